"""The README and the pages of docs/: every code block runs by itself, and every link resolves."""

import logging
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributed import LocalCluster

import cmab_gym
from cmab_gym.cli import main

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
PAGES = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]
LINKED = [
    *PAGES,
    *sorted((REPOSITORY / "docs" / "course").glob("*.md")),
    *(
        REPOSITORY / name
        for name in (
            "CONTRIBUTING.md",
            "SECURITY.md",
            "benchmarks/README.md",
            "envs_data/bundled/README.md",
        )
    ),
]
SCHEDULER = "tcp://127.0.0.1:8786"
INSTALLS = ("run", "test")  # marks of the blocks that make a virtual environment
# Replacements that make long blocks short enough for a test.
SHORTER = {
    " --jobs 2": "",
    "c-ucb tc-ucb": "c-ucb tc-ucb --trials 10 --rounds 500",
    "leaderboard my_agent.py:EpsilonGreedy": "leaderboard my_agent.py:EpsilonGreedy --quick",
    "reproduce 5a 11 --quick": "reproduce 5a --rounds 40 --trials 2 --jobs 1",
    "--parameters published": "--parameters published --trials 10",
    "horizon=50, render_mode": "horizon=5, render_mode",
    "arm in range(50)": "arm in range(5)",
    "ppo a2c": "ppo",
    '"dqn(batch_size=64)" --trials 20': '"dqn(batch_size=64)" --trials 1 --rounds 40',
    "c-ts genre.zip --trials 100": "c-ts genre.zip --trials 2 --rounds 40",
    "--steps 2000000": "--steps 10000",
    "n_steps=512": "n_steps=64",
    "learn(50_000)": "learn(64)",
    "../../../my_assignment.py": "my_assignment.py",
}
# A text that a block contains, and one that it prints.
PRINTED = {
    "from_info(info)  # all that": "(50, 50, 5)",
    '"c-half-ucb"': "c-half-ucb",
    "my_agent.py:EpsilonGreedy": "EpsilonGreedy",
    "inspect CMAB-Ratings-v0": "competitive",
    "student.py --assignment ucb": "the rounds and the pulls are swapped",
    "BEGIN HIDDEN TESTS": "student.py: 0 of 6 points",
    "graves_lai_bound": "4.966",
    "HistoryObservation(env)": "(92,)",
    'vectorization_mode="sync"': "(4, 74)",
    'make_agent("c-ts", beta': "CBandit(TS(B=None, beta=0.1))",
    "batch_size=1": "True",
    "n_arms=10, pad=0.1)": "(10, 10, 5)",
    "round_to=": "0.0",
    "pmf=[[0.1": "0.666",
    "sweep sweep.yaml": "24 finished: sweep/summary.csv",
    "genre.zip": "genre.zip",
    "dqn(": "dqn",
    "model.save(": "model.zip",
}


@dataclass(frozen=True)
class Block:
    """A code block of a page; `mark` is the comment in front of it, without its brackets."""

    page: Path
    line: int
    mark: str
    language: str
    text: str

    def __str__(self):
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"

    @property
    def is_file(self):
        return re.fullmatch(r"\w+\.\w+", self.mark) is not None


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    mark, code = r"(?:^<!-- ([^\n]+?) -->\n)?", r"^(```)([\w{}-]*)\n(.*?)^```$"
    fence = re.compile(mark + code, re.MULTILINE | re.DOTALL)
    return [
        Block(page, text.count("\n", 0, found.start(2)) + 1, found[1] or "", found[3], found[4])
        for found in fence.finditer(text)
        if not found[3].startswith("{")  # a directive of Sphinx
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUNNABLE = [b for b in BLOCKS if b.language in ("python", "bash") and b.mark not in INSTALLS]


def parameters(blocks):
    """One parameter for each block; those marked `rl` need that extra."""
    marks = {"rl": pytest.mark.rl}
    return [pytest.param(b, id=str(b), marks=marks.get(b.mark, ())) for b in blocks]


@pytest.fixture
def two_workers():
    """The cluster of the pages' address, at another port."""
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    here = {"processes": False, "protocol": "tcp"}  # starting processes takes seconds
    with LocalCluster(n_workers=2, threads_per_worker=1, **here, **quiet) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reader's folder, whose modules Python finds, and forgets afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write_files_of(page):
    """Write the files that a page shows, and run its blocks that write others."""
    for block in blocks_of(page):
        if block.is_file:
            Path(block.mark).write_text(block.text, encoding="utf-8")
        elif block.mark.startswith("writes "):
            run_python(block)


def shortened(text):
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def run_python(block):
    # Empty lines in front, so that a traceback names the line of the page.
    program = compile("\n" * block.line + shortened(block.text), str(block.page), "exec")
    exec(program, {"__name__": "__main__"})  # noqa: S102


def run_commands(text):
    for line in text.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line.partition(" > ")[0])
        assert program == "cmab-gym"
        assert main(arguments) == 0, line


@pytest.mark.parametrize("block", parameters(RUNNABLE))
def test_a_block_runs_by_itself(block, folder, request, capsys):
    write_files_of(block.page)
    if block.language == "python":
        run_python(block)
    elif SCHEDULER in block.text:
        run_commands(block.text.replace(SCHEDULER, request.getfixturevalue("two_workers")))
    else:
        run_commands(shortened(block.text))
    if block.mark.startswith("writes "):
        assert Path(block.mark.removeprefix("writes ")).is_file()
    printed = capsys.readouterr().out
    assert all(there in printed for part, there in PRINTED.items() if part in block.text)


@pytest.mark.parametrize("block", parameters([b for b in BLOCKS if b not in RUNNABLE]))
def test_a_block_that_is_not_run_is_a_file_an_output_or_an_install_command(block):
    assert block.is_file or block.mark in INSTALLS or block.language == "text"


@pytest.mark.parametrize("block", parameters([b for b in RUNNABLE if "gym.make" in b.text]))
def test_a_block_that_makes_an_environment_imports_cmab_gym(block):
    assert re.search(r"^(import|from) cmab_gym|\"cmab_gym:", block.text, flags=re.MULTILINE)


def test_every_expected_output_and_every_replacement_belongs_to_a_block():
    parts = [*PRINTED, *SHORTER]
    assert [part for part in parts if not any(part in b.text for b in RUNNABLE)] == []


def install_command(mark):
    (block,) = [b for b in BLOCKS if b.mark == mark]
    return block


def test_there_are_exactly_two_commands_for_a_fresh_machine():
    installs = [b.mark for b in BLOCKS if b.language == "bash" and "python3 -m venv" in b.text]
    assert installs == ["run", "test"]
    run, test = (install_command(mark) for mark in INSTALLS)
    assert {run.page, test.page} == {README}
    assert (run.text.count("\n"), test.text.count("\n")) == (1, 1)
    assert "cmab-gym run CMAB-MovieLens-v0 --agents ucb ts c-ucb c-ts" in run.text
    assert "pytest" in test.text


def test_the_main_job_prints_the_readmes_table(tmp_path, capsys):
    arguments = shlex.split(install_command("run").text.split("cmab-gym ", 1)[1])
    arguments[arguments.index("--out") + 1] = str(tmp_path)
    assert main(arguments) == 0
    printed = without_speed(capsys.readouterr().out)
    (table,) = [block.text for block in blocks_of(README) if block.language == "text"]
    assert len(without_speed(table)) == 5  # with the header
    for row in without_speed(table):
        assert row in printed


def without_speed(table):
    return [line.split()[:-1] for line in table.splitlines() if re.search(r"\d %", line)]


def test_the_readme_has_at_most_150_lines():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_index_lists_every_page():
    index = REPOSITORY / "docs" / "README.md"
    others = {page for page in PAGES if page != index}
    assert others <= {(index.parent / target).resolve() for target in links_of(index)}


def test_the_index_and_the_site_have_the_pages_in_the_same_order():
    docs = REPOSITORY / "docs"
    site = re.findall(
        r"^(?!generated/)[\w/-]+$", (docs / "index.md").read_text("utf-8"), re.MULTILINE
    )
    linked = [link.removesuffix(".md") for link in links_of(docs / "README.md")]
    assert [link for link in linked if not link.startswith("../") and link != "index"] == site


def test_the_api_reference_lists_every_name_of_the_package():
    pages = (REPOSITORY / "docs" / "api").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in cmab_gym.__all__ if f":: cmab_gym.{name}\n" not in text] == []


def prose_of(page):
    """A page without its code."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", lambda code: code[0] if "](" not in code[0] else "", text)


def links_of(page):
    return re.findall(r"\]\(([^)\s]+)\)", prose_of(page))


def anchors_of(page):
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_relative_links_lead_to_a_file_or_a_heading(page):
    for link in links_of(page):
        if not re.match(r"https?:", link):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_programs_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:tests|benchmarks)/[\w/]+\.py", text):
        assert (REPOSITORY / name).is_file(), name


def test_pictures_exist():
    pictures = [
        (page.parent / path).stat().st_size
        for page in LINKED
        for path in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", prose_of(page))
    ]
    assert pictures
    assert min(pictures) > 10_000
