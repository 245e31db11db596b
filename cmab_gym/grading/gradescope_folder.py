"""The folder that Gradescope runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote

from cmab_gym.files import write_whole

_FILES = Path(__file__).with_name("gradescope")


def write_autograder(folder: Path, assignment: str, seed: int) -> None:
    """Write the files of an autograder to a folder: zip them, and upload the archive.

    Args:
        folder: created if needed.
        assignment: as for `find_assignment`; a file is copied.
        seed: the grader's.
    """
    own = assignment.endswith(".py")
    name = "assignment.py" if own else assignment
    values = {"@ASSIGNMENT@": quote(name), "@SEED@": str(seed)}
    files = sorted(_FILES.iterdir())
    texts = {file.name: _filled(file.read_text("utf-8"), values) for file in files}
    if own:
        texts[name] = Path(assignment).read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, text in texts.items():
        write_whole(folder / file_name, partial(_write, text))


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")  # a shell reads it, on Linux
    path.chmod(0o755 if text.startswith("#!") else 0o644)


def _filled(text: str, values: dict[str, str]) -> str:
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text
