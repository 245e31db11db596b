import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

from cmab_gym import evaluate

# The same examples every time where a failure would stop others; new ones while developing. Without
# deadlines: whichever test is the first to play loads what agents compile.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_runtest_setup(item):
    """Skip what needs an extra that is not installed; fail where it has to be, as in CI."""
    if item.get_closest_marker("rl") and importlib.util.find_spec("stable_baselines3") is None:
        required = os.environ.get("CMAB_GYM_REQUIRE_RL")
        refuse = pytest.fail if required else pytest.skip
        refuse("stable-baselines3 is not installed: pip install 'cmab-gym[rl]'")


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder of real ratings, which are never part of the repository."""
    folder = Path(os.environ.get("CMAB_GYM_RAW_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "ml-1m.zip").is_file():
        pytest.skip(f"no ml-1m.zip in {folder}: set CMAB_GYM_RAW_DATA to the folder that has it")
    return folder


@pytest.fixture
def in_both_forms(monkeypatch):
    """Evaluate twice, with compiled loops and with NumPy's, and return both tables of results."""

    def played(*arguments, **keywords):
        tables = []
        for switch in "10":
            monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
            tables.append(evaluate(*arguments, **keywords).to_pandas())
        return tables

    return played
