import importlib.util
import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# In CI the same examples every time; new ones during development. No deadlines: the first test that
# runs an agent waits for compiled code to be loaded.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_configure():
    """Use one thread; let SIGINT and SIGHUP end tests' processes after `&` and `nohup` too.

    On tests' small arrays the threads of BLAS and torch, which are not loaded yet, would only wait.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_runtest_setup(item):
    """Skip tests of what is not installed; fail if it is required, as in CI."""
    if item.get_closest_marker("rl") and importlib.util.find_spec("stable_baselines3") is None:
        _refuse("RL", "stable-baselines3 is not installed: pip install 'cmab-gym[rl]'")
    if item.get_closest_marker("browser") and shutil.which("chromium") is None:
        _refuse("BROWSER", "chromium is not installed: apt-get install chromium")


def _refuse(what, reason):
    refuse = pytest.fail if os.environ.get(f"CMAB_GYM_REQUIRE_{what}") else pytest.skip
    refuse(reason)


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder with the real ratings, which are not part of the repository."""
    folder = Path(os.environ.get("CMAB_GYM_RAW_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "ml-1m.zip").is_file():
        pytest.skip(f"no ml-1m.zip in {folder}: set CMAB_GYM_RAW_DATA to the folder with it")
    return folder


@pytest.fixture
def numpy_loops(monkeypatch):
    """Use NumPy's loops, so that worker processes do not have to load numba."""
    monkeypatch.setenv("CMAB_GYM_COMPILED", "0")


@pytest.fixture
def in_both_forms(monkeypatch):
    """Evaluate with compiled loops and with NumPy's, and return both tables of results."""

    from cmab_gym import evaluate  # loads NumPy: see pytest_configure

    def evaluated(*args, **kwargs):
        tables = []
        for switch in "10":
            monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
            tables.append(evaluate(*args, **kwargs).to_pandas())
        return tables

    return evaluated
