"""A server with one file and many faults, to test downloads."""

import contextlib
import io
import re
import threading
import time
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


def zipped(data):
    """Return a zip archive with one file, 108 bytes longer than its data."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(zipfile.ZipInfo("a.csv"), data)  # with a fixed date
    return archive.getvalue()


DATA = np.random.default_rng(0).bytes(300_000 - len(zipped(b"")))
CONTENT, OTHER = zipped(DATA), zipped(DATA[::-1])
ETAG = '"one"'


@dataclass
class Site:
    """One file on a server, and the faults of the server."""

    content: bytes = CONTENT
    headers: dict = field(default_factory=lambda: {"ETag": ETAG})
    ranges: bool = True
    cuts: list = field(default_factory=list)  # lengths at which the next answers break off
    codes: list = field(default_factory=list)  # status codes of the next answers
    shift: int = 0  # how far before the requested position an answer starts
    length: bool = True  # whether answers state their length
    silent: threading.Event | None = None  # in the middle of the file, wait for this event
    drip: int | None = None  # after so many bytes of an answer, send one byte every 10 ms
    chunks: int = 0  # send the file so many times, in chunks and so without a length
    location: str = "/file.zip"  # where /elsewhere redirects to
    requests: list = field(default_factory=list)
    url: str = ""

    @property
    def requested_ranges(self):
        return [headers.get("Range") for headers in self.requests]


class Dripping:
    """Writes some bytes at once, and the others slowly."""

    def __init__(self, file, at_once):
        self.file, self.at_once = file, at_once

    def write(self, data):
        self.file.write(data[: self.at_once])
        for byte in data[self.at_once :]:
            time.sleep(0.01)
            self.file.write(bytes([byte]))
        self.at_once = max(0, self.at_once - len(data))

    def __getattr__(self, name):
        return getattr(self.file, name)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site = self.server.site
        if site.drip is not None:
            self.wfile = Dripping(self.wfile, site.drip)
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", site.location)
            self.end_headers()
            return
        site.requests.append(dict(self.headers))
        if site.codes:
            self.send_error(site.codes.pop(0))
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.answer(site)

    def answer(self, site):
        start, size = 0, len(site.content)
        requested = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        version = site.headers.get("ETag") or site.headers.get("Last-Modified")
        if site.ranges and requested and self.headers.get("If-Range", version) == version:
            start = int(requested[1]) - site.shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        for name, value in site.headers.items():
            self.send_header(name, value)
        if site.chunks:
            self.send_header("Transfer-Encoding", "chunked")
        elif site.length:
            self.send_header("Content-Length", str(size - start))
        self.end_headers()
        if site.chunks:
            chunk = f"{size:x}\r\n".encode() + site.content + b"\r\n"
            for _ in range(site.chunks):
                self.wfile.write(chunk)
            self.wfile.write(b"0\r\n\r\n")
            return
        stop = site.cuts.pop(0) if site.cuts else size
        if site.silent is not None:
            self.wfile.write(site.content[start : stop // 2])
            site.silent.wait(60)
            start = stop // 2
        self.wfile.write(site.content[start:stop])

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serve():
    """Serve a site for the duration of the context."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.site = Site(url=f"http://127.0.0.1:{server.server_port}/file.zip")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.site
        if server.site.silent is not None:
            server.site.silent.set()
        server.shutdown()
        thread.join()
