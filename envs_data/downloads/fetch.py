"""Download a data set: resume where it broke off, check it, and keep it whole or not at all."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import replace
from os.path import isfile
from pathlib import Path

from filelock import FileLock

from cmab_gym import checks
from cmab_gym.envs_data.downloads.cache import (
    FOLDER_VARIABLE,
    cached_path,
    check_kind,
    checksum_like,
    expected_checksum,
    record_checksum,
    record_path,
    verify,
)
from cmab_gym.envs_data.downloads.connection import Refused
from cmab_gym.envs_data.downloads.datasets import Dataset, dataset
from cmab_gym.envs_data.downloads.kinds import misfit
from cmab_gym.envs_data.downloads.transfer import Interrupted, Progress, Transfer
from cmab_gym.files import check_plain, check_writable

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0  # seconds between attempts, doubled each time
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def fetch(
    name: str | Dataset,
    *,
    accept: Callable[[str], object] | None = None,
    progress: Progress | None = None,
    url: str | None = None,
    timeout: float = 30.0,
    attempts: int = 4,
) -> Path:
    """Return the path of a data set, and download it first if it is not in the cache.

    A download that broke off resumes where it stopped, even in a later call. When several processes
    fetch the same file, one downloads it and the others wait. A file that was put into the cache by
    hand counts as downloaded.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own.
        accept: called once with the terms before the first request, and never when the file is in
            the cache; return False to refuse them. Pass `print` to show them.
        progress: called with the bytes so far and the total, or None if the total is unknown.
        url: another address of the same file; its checksum must be the same.
        timeout: seconds that the server may stay silent, or send less than 1,000 bytes per second
            on average, from 0.01 to 3600.
        attempts: how many times to try, 1 or more.

    Returns:
        The path in the cache folder.

    Raises:
        ValueError: an argument is invalid, the terms were refused, or the size or checksum differs
            from what was expected; such a download is not kept.
        FileNotFoundError: the server has no file at the address.
        ConnectionError: the address could not be reached, or the transfer broke off.
        OSError: the file cannot be written; nothing is kept when the disk is full.
    """
    wanted = dataset(name)
    source = wanted if url is None else replace(wanted, url=url)
    timeout = checks.number_between("timeout", timeout, 0.01, 3600, "it is in seconds")
    attempts = checks.whole_number("attempts", attempts, 1)
    path = cached_path(source)
    if isfile(path) and expected_checksum(source) is not None:
        verify(source)
        return path
    try:
        check_writable(path.parent)
    except OSError as error:
        raise OSError(
            f"the folder for downloads, {path.parent}, cannot be written to "
            f"({error.strerror or error}): set {FOLDER_VARIABLE} to another folder"
        ) from error
    lock = path.with_name(f".{path.name}.lock")
    check_plain(lock)
    with FileLock(lock):
        if not isfile(path):
            check_plain(path)
            if accept is not None and accept(source.terms) is False:
                raise ValueError(f"the terms of {source.name!r} were refused: nothing was fetched")
            partial = path.with_name(f"{path.name}.partial")
            pinned = expected_checksum(source) is not None
            transfer = Transfer(source.url, partial, source.size, pinned, timeout, progress)
            _download(source, transfer, attempts)
        elif expected_checksum(source) is None:
            check_kind(source, path, "delete it and fetch it again")
            record_checksum(source, path)
    return path


def _download(source: Dataset, transfer: Transfer, attempts: int) -> None:
    """Complete the partial file, check it, and rename it."""
    path = cached_path(source)
    try:
        _try_repeatedly(source, transfer, attempts)
        _check(source, transfer)
    except OSError as error:
        if error.errno not in _DISK_FULL:
            raise
        transfer.discard()
        raise OSError(
            error.errno,
            f"no room for {path} ({error.strerror}): nothing was kept; free some space, or set "
            f"{FOLDER_VARIABLE} to another folder",
        ) from error
    transfer.partial.replace(path)
    transfer.version_file.unlink(missing_ok=True)


def _try_repeatedly(source: Dataset, transfer: Transfer, attempts: int) -> None:
    """Try until the partial file is complete, or tell the user how to get the file by hand."""
    by_hand = f"or save {source.url} as {cached_path(source)} yourself"
    reason: Exception | None = None
    for attempt in range(attempts):
        if attempt:
            time.sleep(min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT))
        try:
            transfer.attempt()
        except Interrupted as error:
            reason = error
        except Refused as error:
            kind = FileNotFoundError if error.gone else ConnectionError
            remedy = f"pass another address with url=..., {by_hand}"
            raise kind(f"{error}: expected {source.file}; {remedy}") from error
        else:
            return
    raise ConnectionError(
        f"{source.url} did not send the whole file in {attempts} attempts ({reason}): expected "
        f"{source.file}; fetch it again when you are online, {by_hand}"
    ) from reason


def _check(source: Dataset, transfer: Transfer) -> None:
    """Compare the complete file with its checksum, or record the checksum of a first download."""
    expected = expected_checksum(source)
    if expected is None:
        if reason := misfit(transfer.partial, source.file):
            transfer.discard()
            raise ValueError(
                f"{source.url} sent {source.file}, but it is {reason}; nothing was kept: open the "
                "address in a browser, or pass another address with url=..."
            )
        record_checksum(source, transfer.partial)
    elif (found := checksum_like(expected, transfer.partial)) != expected:
        transfer.discard()
        remedy = "fetch it again, or pass another address with url=..."
        if source.checksum is None:
            remedy = f"to accept a new version, delete {record_path(source)} and fetch it again"
        raise ValueError(
            f"{source.url} sent a file with checksum {found}: expected {expected}; nothing was "
            f"kept: {remedy}"
        )
