"""Open an address: follow safe redirects only, and give up on an answer that is too slow."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

# Bytes per second on average over the timeout; dnf and many others give up at the same speed.
LEAST_SPEED = 1000


class Refused(Exception):
    """The server will not send the file, and another attempt would not help.

    Args:
        message: the answer of the server.
        gone: whether the server says that the file does not exist.
    """

    def __init__(self, message: str, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


def urlopen(request: Request, timeout: float) -> HTTPResponse:
    """Send a request, and follow redirects that keep to its protocol or change to https.

    Args:
        request: the request.
        timeout: seconds that the server may stay silent, and over which its speed is measured.

    Returns:
        The answer. Reading it raises TimeoutError if the server is silent or slower than
        `LEAST_SPEED`.

    Raises:
        Refused: the server redirects from https to another protocol.
        TimeoutError: the server sends the head of its answer too slowly.
        OSError: the address cannot be reached.
    """
    opener = build_opener(_Redirects, _TimedHTTP, _TimedHTTPS)
    response: HTTPResponse = opener.open(request, timeout=timeout)
    return response


class _Redirects(HTTPRedirectHandler):
    """Follows redirects, but not from https to http: anyone on the way could change the file."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        """Return the request of the new address.

        Raises:
            Refused: the new address has another protocol, and it is not https.
        """
        if urlsplit(newurl).scheme not in ("https", req.type):
            raise Refused(f"{req.full_url} redirects to {newurl}, which is not {req.type}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Timed(AbstractHTTPHandler):
    """Opens connections whose answers have a least speed."""

    def do_open(
        self, http_class: Callable[..., HTTPConnection], req: Request, **http_conn_args: Any
    ) -> HTTPResponse:
        def connection(*args: Any, **kwargs: Any) -> HTTPConnection:
            made = http_class(*args, **kwargs)
            made.response_class = _TimedResponse
            return made

        return super().do_open(connection, req, **http_conn_args)


class _TimedHTTP(_Timed, HTTPHandler):
    pass


class _TimedHTTPS(_Timed, HTTPSHandler):
    pass


class _TimedResponse(HTTPResponse):
    """An answer that is read, headers included, through a `_TimedReader`."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock.gettimeout()))


class _TimedReader(io.RawIOBase):
    """Reads from a socket, and raises an error if it is slow over a whole timeout.

    The socket's own timeout starts again with every byte, so a server that sends a byte now and
    then would never be given up. Only the time spent waiting counts, from the first byte on.
    """

    def __init__(self, raw: io.RawIOBase, timeout: float | None) -> None:
        self._raw, self._timeout = raw, timeout or float("inf")
        self._started, self._waited, self._bytes = False, 0.0, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Read what has arrived into a buffer, and return how many bytes that is.

        Raises:
            TimeoutError: less than `LEAST_SPEED` arrived.
        """
        start = time.monotonic()
        n_read: int | None = self._raw.readinto(buffer)
        self._waited += time.monotonic() - start if self._started else 0.0
        self._bytes += n_read or 0
        self._started = True
        if self._waited > self._timeout:
            if self._bytes < LEAST_SPEED * self._waited:
                raise TimeoutError(f"sent only {self._bytes:,} bytes in {self._waited:.3g} seconds")
            self._waited, self._bytes = 0.0, 0
        return n_read

    def close(self) -> None:
        """Close the socket's file."""
        self._raw.close()
        super().close()
