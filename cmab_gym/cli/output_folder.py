"""The folder of the option `--out` or a similar one."""

from pathlib import Path
from shlex import quote

from cmab_gym.files import check_writable


def output_folder(name: str, option: str = "--out") -> Path:
    """Check the folder for the results before the run, which may take hours, starts.

    Raises:
        ValueError: the name is empty or a file's, or the folder cannot be written to.
    """
    folder = Path(name)
    if not name or (folder.exists() and not folder.is_dir()):
        raise ValueError(
            f"{option} {quote(name)}: expected an existing folder or the name of a new one"
        )
    try:
        check_writable(folder)
    except OSError as error:
        raise ValueError(
            f"{option} {quote(name)} cannot be written to ({error}): choose another folder"
        ) from error
    return folder
