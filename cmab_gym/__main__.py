"""`python -m cmab_gym` runs the command `cmab-gym`."""

import sys

from cmab_gym.cli import main

sys.exit(main())
