"""One attempt to download a file over HTTP, going on where an earlier attempt broke off."""

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
from urllib.request import Request, urlopen

Progress = Callable[[int, int | None], object]

_CHUNK = 1 << 18
_GONE = (404, 410)
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class Interrupted(Exception):
    """An attempt broke off for a reason that may pass; what has arrived is kept."""


class Refused(Exception):
    """The server will not give the file, however often it is asked.

    Args:
        message: what it answered.
        gone: whether it says that there is no such file.
    """

    def __init__(self, message: str, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


@dataclass(frozen=True)
class Transfer:
    """What to download, and how.

    Args:
        url: the address, http or https.
        partial: where the bytes go.
        size: the length that the file must have, None if unknown.
        pinned: whether the caller compares the whole file with a checksum known before.
        timeout: seconds that the server may be silent.
        progress: called with the bytes so far and their total, None if unknown.
    """

    url: str
    partial: Path
    size: int | None = None
    pinned: bool = False
    timeout: float = 30.0
    progress: Progress | None = None

    @property
    def note(self) -> Path:
        """The file that says which version of the file the bytes so far belong to."""
        return self.partial.with_name(f"{self.partial.name}.json")

    def discard(self) -> None:
        """Forget what has arrived."""
        self.partial.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def attempt(self) -> None:
        """Complete the partial file.

        Raises:
            Interrupted: the transfer broke off; another attempt may succeed.
            Refused: the server has no such file, will not give it, or is not the right one.
            ValueError: the file has another size; nothing is kept.
            OSError: the partial file cannot be written.
        """
        have, version = self._received()
        if have and have == version.total:
            return  # all had arrived; only the check was still to be made
        headers = {"User-Agent": "cmab-gym", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if version.validator:
                headers["If-Range"] = version.validator
        with self._open(headers) as response:
            self._receive(response, have, version)

    def _received(self) -> tuple[int, _Version]:
        """Return how many bytes can be kept, and of which version they are."""
        try:
            version = _Version(**json.loads(self.note.read_text(encoding="utf-8")))
            have = self.partial.stat().st_size
            # Without a validator, only a checksum shows that two versions were joined.
            safe = bool(version.validator) or self.pinned
            if safe and version.url == self.url and have <= (version.total or have):
                return have, version
        except (OSError, TypeError, ValueError):
            pass  # there is no partial file, or its note is damaged
        return 0, _Version(self.url)

    def _open(self, headers: dict[str, str]) -> HTTPResponse:
        request = Request(self.url, headers=headers)  # noqa: S310 - the scheme is http or https
        try:
            response: HTTPResponse = urlopen(request, timeout=self.timeout)  # noqa: S310
        except HTTPError as error:
            with error:
                self._refused(error)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                why = reason.verify_message
                raise Refused(f"{self.url} has no valid certificate ({why})") from error
            raise Interrupted(_said(reason)) from error
        return response

    def _refused(self, error: HTTPError) -> NoReturn:
        answer = f"answered {error.code} {error.reason}"
        if error.code == 416:  # the partial file is longer than the one there
            self.discard()
        if error.code == 416 or error.code in _TRANSIENT:
            raise Interrupted(answer) from error
        raise Refused(f"{self.url} {answer}", gone=error.code in _GONE) from error

    def _receive(self, response: HTTPResponse, have: int, version: _Version) -> None:
        start, total = self._extent(response)
        if start not in (0, have):
            self.discard()
            raise Interrupted(f"sent bytes from {start:,} on when asked for those from {have:,} on")
        if not start:
            version = _Version(self.url, _validator(response))
        free = shutil.disk_usage(self.partial.parent).free
        if total and free < total - start:
            raise OSError(errno.ENOSPC, f"{free:,} bytes are free and {total - start:,} needed")
        with self.partial.open("ab" if start else "wb") as file:
            # Written after the old bytes are gone, so that it never vouches for them.
            note = json.dumps(asdict(replace(version, total=total)))
            self.note.write_text(note, encoding="utf-8")
            for chunk in _chunks(response):
                file.write(chunk)
                start += len(chunk)
                if self.progress is not None:
                    self.progress(start, total)
            file.flush()
            os.fsync(file.fileno())
        if not start or start < (total or 0):
            raise Interrupted(f"sent {start:,} bytes of {total or 'an unknown number'}")

    def _extent(self, response: HTTPResponse) -> tuple[int, int | None]:
        """Return where the answer starts in the file, and how long the file is."""
        if response.headers.get_content_type() == "text/html":
            raise Refused(f"{self.url} sent a web page, perhaps one to log in")
        start, total = 0, response.length
        if response.status == 206:
            form = r"bytes (\d+)-\d+/(\d+|\*)"
            found = re.fullmatch(form, response.headers.get("Content-Range", ""))
            if found is None:
                self.discard()
                raise Interrupted("sent a part of the file without saying which")
            start, total = int(found[1]), None if found[2] == "*" else int(found[2])
        if total is not None and self.size not in (None, total):
            self.discard()
            raise ValueError(
                f"{self.url} has a file of {total:,} bytes: expected {self.size:,}; nothing was "
                "kept: give the address of the right file as url="
            )
        return start, self.size if total is None else total


@dataclass(frozen=True)
class _Version:
    """Which version of a file some bytes belong to."""

    url: str
    validator: str = ""
    total: int | None = None


def _validator(response: HTTPResponse) -> str:
    """Return what tells this version of the file from others, for If-Range; "" if nothing does."""
    etag = response.headers.get("ETag", "")
    # If-Range takes no weak validators: they do not promise the same bytes.
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, HTTPException) as error:
            raise Interrupted(_said(error)) from error
        if not chunk:
            return
        yield chunk


def _said(error: object) -> str:
    return str(error) or type(error).__name__
