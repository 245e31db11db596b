"""What is built, installed and imported."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import cmab_gym

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = {"cmab_gym": "cmab_gym", "agents": "cmab_gym/agents", "envs_data": "cmab_gym/envs_data"}


def run(*command, **keywords):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the tracked files, built as pip does, without the network."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (REPOSITORY / name).is_symlink():
            target.symlink_to(os.readlink(REPOSITORY / name))
        else:
            target.write_bytes((REPOSITORY / name).read_bytes())
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source)
    return next(out.glob("*.whl"))


def tracked():
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout: the tracked files are not known")
    listed = run("git", "-C", REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard")
    return [name for name in listed.splitlines() if os.path.lexists(REPOSITORY / name)]


def test_the_wheel_holds_every_tracked_file_of_the_three_folders(wheel):
    expected = set()
    for name in tracked():
        top, _, rest = name.partition("/")
        if top in FOLDERS and rest and not (REPOSITORY / name).is_symlink():
            expected.add(f"{FOLDERS[top]}/{rest}")
    built = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert built == expected
    assert {"cmab_gym/py.typed", "cmab_gym/agents/policies/ucb.py"} <= built


def test_the_wheel_works_from_anywhere(wheel, tmp_path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import cmab_gym, cmab_gym.agents, cmab_gym.envs_data\n"
        "from cmab_gym.evaluation import evaluate\n"
        "assert cmab_gym.__file__.startswith(sys.argv[1]), cmab_gym.__file__\n"
        "assert cmab_gym.agents.__file__.startswith(sys.argv[1])\n"
        "print(evaluate('CMAB-MovieLens-v0', ['c-ts'], 30, 2).summary()['agent'].tolist())\n"
    )
    numpy_loops = {**os.environ, "CMAB_GYM_COMPILED": "0"}  # compiling takes 10 seconds
    found = run(sys.executable, "-I", "-c", program, site, cwd=tmp_path, env=numpy_loops)
    assert found == "['c-ts']\n"


def test_the_symbolic_links_lead_to_the_folders():
    for name, target in (("agents", "../agents"), ("envs_data", "../envs_data")):
        link = REPOSITORY / "cmab_gym" / name
        assert link.is_symlink()
        assert os.readlink(link) == target


def test_importing_loads_nothing_heavy():
    program = (
        "import json, sys, cmab_gym\n"
        "heavy = ('torch', 'matplotlib', 'pandas', 'pyarrow', 'scipy.stats', 'rich',\n"
        "         'distributed', 'yaml')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    assert json.loads(run(sys.executable, "-c", program)) == []


def test_the_package_its_citation_and_its_changelog_have_one_version():
    assert cmab_gym.__version__ == version("cmab-gym")
    assert f"version: {cmab_gym.__version__}" in (REPOSITORY / "CITATION.cff").read_text()
    assert f"## {cmab_gym.__version__}" in (REPOSITORY / "CHANGELOG.md").read_text()


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("cmab-gym")
    assert run(command, "--version").strip() == cmab_gym.__version__
    assert run(sys.executable, "-m", "cmab_gym", "--version").strip() == cmab_gym.__version__
