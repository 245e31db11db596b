"""One attempt to download a file over HTTP, which resumes where an earlier one broke off."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import ssl
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NoReturn
from urllib.error import HTTPError
from urllib.request import Request

from cmab_gym.envs_data.downloads.connection import Refused, urlopen
from cmab_gym.files import check_plain, write_whole

Progress = Callable[[int, int | None], object]

# Largest download in bytes if neither the data set nor the server states its size.
MOST_BYTES = 10**10
_CHUNK = 1 << 18
_GONE = (404, 410)
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class Interrupted(Exception):
    """The attempt broke off for a reason that may pass; the bytes received are kept."""


@dataclass(frozen=True)
class Transfer:
    """A file to download, and the options of the download.

    Args:
        url: the address, http or https.
        partial: the file that receives the bytes.
        size: the length that the file must have, in bytes; None if unknown.
        pinned: whether the caller compares the whole file with a checksum known beforehand.
        timeout: seconds that the server may stay silent, or be slower than `LEAST_SPEED`.
        progress: called with the bytes so far and the total, or None if the total is unknown.
    """

    url: str
    partial: Path
    size: int | None = None
    pinned: bool = False
    timeout: float = 30.0
    progress: Progress | None = None

    @property
    def version_file(self) -> Path:
        """The file that records which version of the download the bytes so far belong to."""
        return self.partial.with_name(f"{self.partial.name}.version")

    def discard(self) -> None:
        """Delete the bytes received."""
        self.partial.unlink(missing_ok=True)
        self.version_file.unlink(missing_ok=True)

    def attempt(self) -> None:
        """Complete the partial file.

        Raises:
            Interrupted: the transfer broke off; another attempt may succeed.
            Refused: the server has no such file, does not send it, has no valid certificate, or
                redirects from https to another protocol.
            ValueError: the file has another size, and nothing is kept; or the partial file is a
                link, a folder or a device.
            OSError: the partial file cannot be written.
        """
        check_plain(self.partial)
        check_plain(self.version_file)
        n_kept, version = self._kept()
        if n_kept and n_kept == version.total:
            return  # an earlier call was stopped between the last byte and the check
        headers = {"User-Agent": "cmab-gym", "Accept-Encoding": "identity"}
        if n_kept:
            headers["Range"] = f"bytes={n_kept}-"
            if version.validator:
                headers["If-Range"] = version.validator
        with self._open(headers) as response:
            self._receive(response, n_kept, version)

    def _kept(self) -> tuple[int, _Version]:
        """Return how many of the bytes received can be kept, and their version."""
        try:
            version = _Version(**json.loads(self.version_file.read_text(encoding="utf-8")))
            n_kept = self.partial.stat().st_size
            # Without a validator, only a checksum shows that two versions were joined.
            safe = bool(version.validator) or self.pinned
            if safe and version.url == self.url and n_kept <= (version.total or n_kept):
                return n_kept, version
        except (OSError, RecursionError, TypeError, ValueError):
            pass  # there is no partial file, or the record of its version is damaged
        return 0, _Version(self.url)

    def _open(self, headers: dict[str, str]) -> HTTPResponse:
        request = Request(self.url, headers=headers)  # noqa: S310 - the scheme is http or https
        try:
            response = urlopen(request, self.timeout)
        except HTTPError as error:
            with error:
                self._raise_for(error)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                why = reason.verify_message
                raise Refused(f"{self.url} has no valid certificate ({why})") from error
            raise Interrupted(_describe(reason)) from error
        return response

    def _raise_for(self, error: HTTPError) -> NoReturn:
        answer = " ".join(f"answered {error.code} {error.reason}".split())
        if error.code == 416:  # the partial file is longer than the file on the server
            self.discard()
        if error.code == 416 or error.code in _TRANSIENT:
            raise Interrupted(answer) from error
        raise Refused(f"{self.url} {answer}", gone=error.code in _GONE) from error

    def _receive(self, response: HTTPResponse, n_kept: int, version: _Version) -> None:
        """Append the answer to the bytes kept, or replace them if it is the whole file."""
        start, total = self._extent(response)
        if start not in (0, n_kept):
            self.discard()
            raise Interrupted(f"sent bytes from {start:,} on: asked for bytes from {n_kept:,} on")
        if not start:
            version = _Version(self.url, _validator(response))
        free = shutil.disk_usage(self.partial.parent).free
        if total and free < total - start:
            raise OSError(errno.ENOSPC, f"{free:,} bytes are free and {total - start:,} needed")
        most = total or MOST_BYTES
        with open(self.partial, "ab" if start else "wb", opener=_open_plain) as file:
            # Written after the old bytes are gone, so that they are never taken for this version.
            record = json.dumps(asdict(replace(version, total=total)))
            write_whole(self.version_file, lambda part: part.write_text(record, encoding="utf-8"))
            for chunk in _chunks(response):
                start += len(chunk)
                if start > most:
                    break
                file.write(chunk)
                if self.progress is not None:
                    self.progress(start, total)
            file.flush()
            os.fsync(file.fileno())
        if start > most:  # not before: Windows does not delete an open file
            self._refuse_size(f"sent more than {most:,} bytes")
        if not start or start < (total or 0):
            raise Interrupted(f"sent {start:,} bytes of {total or 'an unknown number'}")

    def _extent(self, response: HTTPResponse) -> tuple[int, int | None]:
        """Return the position in the file at which the answer starts, and the file's length."""
        if response.headers.get_content_type() == "text/html":
            raise Refused(f"{self.url} sent a web page, perhaps a login page")
        start, total = 0, response.length
        if response.status == 206:
            pattern = r"bytes (\d+)-\d+/(\d+|\*)"
            found = re.fullmatch(pattern, response.headers.get("Content-Range", ""))
            if found is None:
                self.discard()
                raise Interrupted("sent a part of the file without its position")
            start, total = int(found[1]), None if found[2] == "*" else int(found[2])
        if total is not None and self.size not in (None, total):
            self._refuse_size(f"has a file of {total:,} bytes")
        return start, self.size if total is None else total

    def _refuse_size(self, what: str) -> NoReturn:
        self.discard()
        expected = f"at most {MOST_BYTES:,}" if self.size is None else f"{self.size:,}"
        raise ValueError(
            f"{self.url} {what}: expected {expected}; nothing was kept: pass the address of the "
            "right file with url=..."
        )


@dataclass(frozen=True)
class _Version:
    """The version of a file that some bytes belong to."""

    url: str
    validator: str = ""
    total: int | None = None


def _open_plain(path: str, flags: int) -> int:
    """Open a file; refuse a link that replaced it after the check."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _validator(response: HTTPResponse) -> str:
    """Return the header that identifies this version of the file, for If-Range, or ""."""
    etag = response.headers.get("ETag", "")
    # If-Range does not accept weak validators: they do not promise the same bytes.
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, HTTPException) as error:
            raise Interrupted(_describe(error)) from error
        if not chunk:
            return
        yield chunk


def _describe(error: object) -> str:
    return str(error) or type(error).__name__
