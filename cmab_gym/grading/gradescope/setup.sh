#!/usr/bin/env bash
# Gradescope runs this once, as root, when the autograder is uploaded.
set -euo pipefail
apt-get update
apt-get install -y python3 python3-venv
# Not below /root: the user nobody, who runs submissions, must be able to read it.
python3 -m venv /opt/grader
# Put a wheel of cmab-gym (`pip wheel --no-deps .` in its folder) next to this file.
/opt/grader/bin/pip install "${AUTOGRADER:-/autograder}"/source/cmab_gym-*.whl
# Only root may read the assignment and its seed.
chmod -R go-rwx "${AUTOGRADER:-/autograder}/source"
