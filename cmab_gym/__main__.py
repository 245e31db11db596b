"""`python -m cmab_gym` is the command `cmab-gym`."""

import sys

from cmab_gym.cli import main

sys.exit(main())
