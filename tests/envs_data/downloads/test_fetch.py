import gzip
import hashlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.error import URLError
from urllib.request import HTTPSHandler

import pytest
from file_server import CONTENT, ETAG, OTHER, serve
from filelock import FileLock
from waiting import wait_until

from cmab_gym.envs_data.downloads import fetch as fetch_module
from cmab_gym.envs_data.downloads import transfer as transfer_module
from cmab_gym.envs_data.downloads.cache import cached_path, record_path, verify
from cmab_gym.envs_data.downloads.datasets import Dataset
from cmab_gym.envs_data.downloads.fetch import fetch

SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site():
    with serve() as site:
        yield site


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetch_module, "FIRST_WAIT", 0.0)
    return tmp_path


@pytest.fixture(autouse=True)
def only_closed_files_are_deleted(monkeypatch):
    """Refuse to delete a file that is open, as Windows does."""
    unlink, opened = Path.unlink, Path("/proc/self/fd")

    def checked(path, missing_ok=False):
        assert not any(os.path.realpath(each) == str(path) for each in opened.iterdir())
        unlink(path, missing_ok)

    if opened.exists():  # Linux
        monkeypatch.setattr(Path, "unlink", checked)


@pytest.fixture
def pinned(site):
    """A data set whose checksum is known."""
    return Dataset("own", "Own", site.url, "own.zip", "Be kind.", "nobody", len(CONTENT), SHA256)


@pytest.fixture
def unknown(pinned):
    """A data set without a known size and checksum."""
    return replace(pinned, size=None, checksum=None)


def names(folder):
    """Return the visible files; lock files are hidden."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_download_is_complete_and_reports_its_progress(site, pinned, folder):
    seen = []
    path = fetch(pinned, progress=lambda done, total: seen.append((done, total)))
    assert path == folder / "own.zip" == cached_path(pinned)
    assert path.read_bytes() == CONTENT
    assert names(folder) == ["own.zip"]
    assert len(site.requests) == 1
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_cached_file_is_not_requested_again(site, pinned):
    fetch(pinned)
    assert fetch(pinned, accept=pytest.fail).read_bytes() == CONTENT
    assert len(site.requests) == 1


def test_a_redirect_is_followed(site, pinned):
    other = site.url.replace("file.zip", "elsewhere")
    assert fetch(pinned, url=other).read_bytes() == CONTENT
    assert len(site.requests) == 1


def test_a_redirect_away_from_https_is_refused(site, pinned, folder, monkeypatch):
    # A site without encryption under an https address, so that no certificate is needed.
    def https_open(self, request):
        return self.do_open(HTTPConnection, request)

    monkeypatch.setattr(HTTPSHandler, "https_open", https_open)
    secure = site.url.replace("http:", "https:")
    assert fetch(pinned, url=secure).read_bytes() == CONTENT
    (folder / "own.zip").unlink()
    site.location = site.url
    with pytest.raises(ConnectionError, match=rf"redirects to {site.url}, which is not https"):
        fetch(pinned, url=secure.replace("file.zip", "elsewhere"))
    assert names(folder) == []
    site.location = secure  # from http to https is fine
    other = site.url.replace("file.zip", "elsewhere")
    assert fetch(pinned, url=other).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "file:///etc/passwd' is not allowed"),
        ("ftp://127.0.0.1/file.zip", "redirects to ftp://127.0.0.1/file.zip, which is not http"),
        ("data:,ratings", "data:,ratings' is not allowed"),
        ("/elsewhere", "infinite loop"),
    ],
)
def test_a_redirect_that_leads_to_no_file_is_refused(site, pinned, folder, location, reason):
    site.location = location
    with pytest.raises(ConnectionError, match=f"{reason}.*: expected own.zip; pass another"):
        fetch(pinned, url=site.url.replace("file.zip", "elsewhere"))
    assert names(folder) == []


def _link(path, target):
    path.symlink_to(target)


def _folder(path, _):
    path.mkdir()


def _pipe(path, _):
    os.mkfifo(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of Unix")
@pytest.mark.parametrize("place", [_link, _folder, _pipe])
@pytest.mark.parametrize(
    "name", ["own.zip.partial", "own.zip.partial.version", ".own.zip.lock", "own.zip"]
)
def test_a_link_folder_or_pipe_in_the_place_of_a_file_is_refused(
    site, unknown, folder, tmp_path_factory, name, place
):
    victim = tmp_path_factory.mktemp("elsewhere") / "victim"
    if name != "own.zip":  # a link to a file may take its place: see below
        victim.write_text("precious")
    place(folder / name, victim)
    with pytest.raises(ValueError, match=rf"{name} is a (link|folder|device): expected a file"):
        fetch(unknown)
    assert site.requests == []
    assert not victim.exists() or victim.read_text() == "precious"


def test_a_link_that_is_put_in_place_of_the_partial_file_is_not_followed(
    pinned, folder, tmp_path_factory, monkeypatch
):
    victim = tmp_path_factory.mktemp("elsewhere") / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(transfer_module, "check_plain", lambda path: None)
    (folder / "own.zip.partial").symlink_to(victim)
    with pytest.raises(OSError, match=r"own\.zip\.partial"):
        fetch(pinned)
    assert victim.read_text() == "precious"


def test_a_link_in_the_cache_is_read_but_never_written(site, unknown, folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "big.zip"
    elsewhere.write_bytes(CONTENT)
    (folder / "own.zip").symlink_to(elsewhere)
    assert fetch(unknown).read_bytes() == CONTENT
    verify(unknown)
    elsewhere.write_bytes(OTHER)
    with pytest.raises(ValueError, match="it was changed or is another file: delete it"):
        verify(unknown)
    assert site.requests == []


def test_a_folder_in_the_cache_is_not_a_data_set(unknown, folder):
    (folder / "own.zip").mkdir()
    with pytest.raises(ValueError, match=r"own\.zip is a folder: expected the file of 'own'"):
        verify(unknown)


def test_a_file_of_unknown_length_is_downloaded(site, unknown):
    site.length = False
    seen = []
    path = fetch(unknown, progress=lambda done, total: seen.append(total))
    assert path.read_bytes() == CONTENT
    assert set(seen) == {None}


def test_a_broken_download_resumes_in_the_same_call(site, pinned):
    site.cuts = [1000, 200_000]
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requested_ranges == [None, "bytes=1000-", "bytes=200000-"]
    assert [headers.get("If-Range") for headers in site.requests] == [None, ETAG, ETAG]


def test_a_broken_download_resumes_in_a_later_call(site, unknown, folder):
    site.cuts = [1000]
    with pytest.raises(ConnectionError, match="sent 1,000 bytes of 300000"):
        fetch(unknown, attempts=1)
    assert names(folder) == ["own.zip.partial", "own.zip.partial.version"]
    assert fetch(unknown).read_bytes() == CONTENT
    assert site.requested_ranges == [None, "bytes=1000-"]
    assert names(folder) == ["own.zip", "own.zip.sha256"]


@pytest.mark.parametrize("problem", ["no ranges", "file changed", "wrong range", "weak tag"])
def test_the_download_starts_again_if_resuming_is_not_safe(site, unknown, problem):
    site.cuts = [1000]
    if problem == "weak tag":
        site.headers = {"ETag": 'W/"one"'}
    with pytest.raises(ConnectionError):
        fetch(unknown, attempts=1)
    if problem == "no ranges":
        site.ranges = False
    elif problem == "file changed":
        site.content, site.headers = OTHER, {"ETag": '"two"'}
    elif problem == "wrong range":
        site.shift = 10
    assert fetch(unknown).read_bytes() == site.content


def test_a_download_resumes_by_date_or_by_checksum(site, pinned):
    site.cuts, site.headers = [1000], {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requests[1]["If-Range"] == "Mon, 01 Jan 2024 00:00:00 GMT"
    cached_path(pinned).unlink()
    site.cuts, site.headers = [1000], {}
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requests[3]["Range"] == "bytes=1000-"
    assert "If-Range" not in site.requests[3]


def test_a_partial_file_that_is_too_long_is_discarded(site, pinned):
    site.cuts, site.length = [1000], False
    with pytest.raises(ConnectionError):
        fetch(replace(pinned, size=2000), attempts=1)
    site.codes = [416]
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requested_ranges == [None, "bytes=1000-", None]


def test_an_interrupt_keeps_the_partial_file(site, pinned, folder):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(pinned, progress=stop)
    assert names(folder) == ["own.zip.partial", "own.zip.partial.version"]
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requested_ranges[1].startswith("bytes=")


def test_an_interrupt_before_the_check_keeps_the_whole_file(site, pinned, monkeypatch):
    def stop(expected, path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetch_module, "checksum_like", stop)
        with pytest.raises(KeyboardInterrupt):
            fetch(pinned)
    assert fetch(pinned).read_bytes() == CONTENT
    assert len(site.requests) == 1


@pytest.mark.parametrize("version", ["[", "[" * 100_000, "{}", '{"url": 1, "total": "x"}'])
def test_a_partial_file_of_an_unknown_version_is_discarded(version, site, pinned, folder):
    (folder / "own.zip.partial").write_bytes(b"nonsense")
    (folder / "own.zip.partial.version").write_text(version)
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requested_ranges == [None]


def test_a_download_from_a_busy_server_is_tried_again(site, pinned):
    site.codes = [503, 429]
    assert fetch(pinned).read_bytes() == CONTENT
    site.codes = [500, 500]
    cached_path(pinned).unlink()
    with pytest.raises(ConnectionError, match=r"in 2 attempts \(answered 500 Internal"):
        fetch(pinned, attempts=2)


def test_a_silent_server_times_out_and_the_bytes_so_far_are_kept(site, pinned, folder):
    site.silent = threading.Event()
    with pytest.raises(ConnectionError, match="timed out"):
        fetch(pinned, timeout=0.1, attempts=1)
    assert (folder / "own.zip.partial").stat().st_size == len(CONTENT) // 2


@pytest.mark.parametrize(
    ("at_once", "chunks"), [(0, 0), (200_000, 0), (200_000, 1)], ids=["head", "body", "chunk"]
)
def test_a_server_that_is_too_slow_is_given_up(site, pinned, folder, at_once, chunks):
    site.drip, site.chunks = at_once, chunks
    with pytest.raises(ConnectionError, match=r"sent only .* bytes in 0\.1\d* seconds"):
        fetch(pinned, timeout=0.1, attempts=1)
    site.drip, site.chunks = None, 0
    assert fetch(pinned).read_bytes() == CONTENT
    kept = site.requested_ranges[1]
    assert (kept is None) if at_once == 0 else (int(kept[6:-1]) > 190_000)


def test_an_unreachable_server_is_named_with_the_remedy(pinned, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, but not listening
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file.zip"
        with pytest.raises(ConnectionError) as caught:
            fetch(pinned, url=url, attempts=2)
    for part in (url, "2 attempts", "own.zip", str(folder / "own.zip")):
        assert part in str(caught.value)
    assert names(folder) == []


@pytest.mark.parametrize(
    ("code", "kind"), [(404, FileNotFoundError), (410, FileNotFoundError), (403, ConnectionError)]
)
def test_a_download_that_the_server_refuses_is_not_tried_again(site, pinned, folder, code, kind):
    site.codes = [code] * 2
    with pytest.raises(
        kind, match=rf"answered {code} .*: expected own.zip; pass another address with url="
    ):
        fetch(pinned)
    assert len(site.requests) == 1
    assert names(folder) == []


def test_a_web_page_is_not_a_file(site, unknown, folder):
    site.headers = {"Content-Type": "text/html; charset=utf-8"}
    with pytest.raises(ConnectionError, match="sent a web page"):
        fetch(unknown)
    assert names(folder) == []


PAGE = b"\xef\xbb\xbf \n<!DOCTYPE html><title>Log in</title>"


@pytest.mark.parametrize(
    ("file", "content", "kind"),
    [
        ("own.zip", PAGE, "not a whole zip archive"),
        ("own.zip", CONTENT[:-30], "not a whole zip archive"),
        ("own.json.gz", PAGE, "not a whole gzip file"),
        ("own.json.gz", gzip.compress(CONTENT)[:-30], "not a whole gzip file"),
        ("own.json.gz", gzip.compress(bytes(10_000_000)), "not a whole gzip file"),
        ("own.csv", PAGE, "a web page"),
    ],
    ids=["page.zip", "half.zip", "page.gz", "half.gz", "bomb.gz", "page.csv"],
)
def test_a_page_or_half_a_file_is_never_recorded(site, unknown, folder, file, content, kind):
    site.content, site.length = content, False
    site.headers = {"Content-Type": "application/octet-stream"}
    wanted = replace(unknown, file=file)
    with pytest.raises(
        ValueError, match=rf"sent {file}, but it is {kind} \(it begins.*nothing was"
    ):
        fetch(wanted)
    assert names(folder) == []
    (folder / file).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{file} is {kind} .*; delete it and fetch it again"):
        fetch(wanted)
    assert names(folder) == [file]
    record_path(wanted).write_text(hashlib.sha256(content).hexdigest())
    with pytest.raises(ValueError, match=rf"{file} is {kind} .*; delete it and .*{file}.sha256"):
        verify(wanted)


@pytest.mark.parametrize(
    ("file", "content"),
    [("own.csv", b"u,i,r\n1,2,3\n"), ("own.json.gz", gzip.compress(b"{}" * 99)), ("own.dat", b"1")],
    ids=["csv", "gz", "dat"],
)
def test_files_that_are_what_their_names_say_are_recorded(site, unknown, file, content):
    site.content = content
    wanted = replace(unknown, file=file)
    assert fetch(wanted).read_bytes() == content
    verify(wanted)


def test_an_empty_file_is_refused(site, unknown):
    site.content = b""
    with pytest.raises(ConnectionError, match="sent 0 bytes"):
        fetch(unknown)


def test_a_bad_certificate_is_not_tried_again(pinned, monkeypatch):
    tried = []

    def urlopen(request, timeout):
        tried.append(request.full_url)
        error = ssl.SSLCertVerificationError("bad")
        error.verify_message = "certificate has expired"
        raise URLError(error)

    monkeypatch.setattr(transfer_module, "urlopen", urlopen)
    with pytest.raises(ConnectionError, match=r"certificate has expired.*own.zip.* yourself"):
        fetch(pinned)
    assert len(tried) == 1


def test_a_part_without_its_position_is_discarded(site, pinned):
    site.cuts = [1000]
    site.headers = {"ETag": ETAG}
    with pytest.raises(ConnectionError):
        fetch(pinned, attempts=1)
    site.shift = 2000  # a range with a negative start is invalid
    assert fetch(pinned).read_bytes() == CONTENT
    assert site.requested_ranges == [None, "bytes=1000-", None]


def test_a_wrong_checksum_is_named_and_nothing_is_kept(site, pinned, folder):
    site.content = OTHER
    found = hashlib.sha256(OTHER).hexdigest()
    with pytest.raises(ValueError, match=f"{found}: expected {SHA256}; nothing was kept"):
        fetch(pinned)
    assert names(folder) == []


def test_md5_checksums_are_accepted(site, pinned):
    md5 = "md5:" + hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert fetch(replace(pinned, checksum=md5)).read_bytes() == CONTENT
    with pytest.raises(ValueError, match=f"expected md5:{'0' * 32}"):
        verify(replace(pinned, checksum=f"md5:{'0' * 32}"))


@pytest.mark.parametrize("chunks", [0, 500])
def test_more_bytes_than_the_size_are_refused_while_they_arrive(site, pinned, folder, chunks):
    site.length, site.chunks = False, chunks
    seen = []
    with pytest.raises(ValueError, match="sent more than 100,000 bytes: expected 100,000; nothing"):
        fetch(replace(pinned, size=100_000), progress=lambda done, total: seen.append(done))
    assert max(seen, default=0) <= 100_000
    assert names(folder) == []


def test_a_file_without_any_known_size_has_a_limit(site, unknown, folder, monkeypatch):
    monkeypatch.setattr(transfer_module, "MOST_BYTES", 1_000_000)
    site.chunks = 500
    with pytest.raises(ValueError, match="sent more than 1,000,000 bytes: expected at most 1,000,"):
        fetch(unknown)
    assert names(folder) == []
    site.chunks = 1
    assert fetch(unknown).read_bytes() == CONTENT


def test_a_resumed_download_stops_at_its_size_too(site, pinned, folder):
    site.cuts, site.length = [1000], False
    with pytest.raises(ConnectionError):
        fetch(pinned, attempts=1)
    site.chunks = 500
    with pytest.raises(ValueError, match="sent more than 300,000 bytes: expected 300,000"):
        fetch(pinned)
    assert site.requested_ranges == [None, "bytes=1000-"]
    assert names(folder) == []


def test_a_wrong_size_is_named_and_nothing_is_kept(site, pinned, folder):
    with pytest.raises(ValueError, match="has a file of 300,000 bytes: expected 7;"):
        fetch(replace(pinned, size=7))
    assert names(folder) == []


def test_the_checksum_of_a_first_download_is_recorded(site, unknown, folder):
    path = fetch(unknown)
    record = folder / "own.zip.sha256"
    assert record.read_text() == f"{SHA256[7:]}  own.zip\n"
    verify(unknown)
    path.write_bytes(OTHER)
    with pytest.raises(ValueError, match=f"expected {SHA256}; it was changed or is another"):
        verify(unknown)
    with pytest.raises(ValueError, match="it was changed or is another file: delete it"):
        fetch(unknown)
    assert path.read_bytes() == OTHER
    path.unlink()
    site.content = OTHER
    with pytest.raises(ValueError, match=re.escape(f"to accept a new version, delete {record}")):
        fetch(unknown)
    record.unlink()
    assert fetch(unknown).read_bytes() == OTHER
    verify(unknown)


def test_a_file_put_into_the_cache_by_hand_is_checked(site, pinned, unknown, folder):
    (folder / "own.zip").write_bytes(CONTENT)
    with pytest.raises(ValueError, match=r"no checksum of .* is known"):
        verify(unknown)
    fetch(unknown, accept=pytest.fail)
    verify(unknown)
    fetch(pinned)
    (folder / "own.zip").write_bytes(OTHER)
    with pytest.raises(ValueError, match="it was changed or is another file: delete it"):
        fetch(pinned)
    assert site.requests == []


def test_terms_come_before_the_first_request(site, unknown):
    shown = []
    site.cuts = [1000]
    fetch(unknown, accept=lambda terms: shown.append((terms, len(site.requests))))
    assert len(site.requests) == 2
    ((terms, requests),) = shown
    assert requests == 0
    for part in ("Own", site.url, "Be kind.", "Cite nobody.", "No checksum"):
        assert part in terms


def test_refused_terms_stop_the_download(site, pinned, folder, capsys):
    with pytest.raises(ValueError, match="the terms of 'own' were refused: nothing was fetched"):
        fetch(pinned, accept=lambda terms: False)
    assert site.requests == []
    assert names(folder) == []
    fetch(pinned)
    assert capsys.readouterr() == ("", "")


def test_too_little_free_space_is_noticed_before_the_download(pinned, folder, monkeypatch):
    usage = shutil.disk_usage(folder)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(OSError, match=r"no room for .*10 bytes are free and 300,000 needed.*_DATA"):
        fetch(pinned)
    assert names(folder) == []


def test_a_full_disk_leaves_no_file(pinned, folder):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"no room for .*nothing was kept"):
            fetch(pinned)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(folder) == []


PROGRAM = """
import sys
from cmab_gym.envs_data.downloads.datasets import Dataset
from cmab_gym.envs_data.downloads.fetch import fetch
print(fetch(Dataset("own", "Own", sys.argv[1], "own.zip", "", "")).stat().st_size)
"""


def process(url):
    command = [sys.executable, "-c", PROGRAM, url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_of_two_processes_one_downloads_and_the_other_waits(site, unknown, folder, monkeypatch):
    waits = threading.Event()

    class Lock(FileLock):
        def acquire(self, *args, **kwargs):
            waits.set()
            return super().acquire(*args, **kwargs)

    monkeypatch.setattr(fetch_module, "FileLock", Lock)
    site.silent = threading.Event()
    with process(site.url) as other, ThreadPoolExecutor(1) as pool:
        wait_until(lambda: site.requests)
        own = pool.submit(fetch, unknown)
        assert waits.wait(60)
        assert not own.done()
        site.silent.set()
        assert int(other.communicate(timeout=60)[0]) == len(CONTENT)
        assert own.result(60).read_bytes() == CONTENT
    assert len(site.requests) == 1
    assert names(folder) == ["own.zip", "own.zip.sha256"]


def test_the_download_of_a_killed_process_resumes(site, unknown, folder):
    half, partial = len(CONTENT) // 2, folder / "own.zip.partial"
    site.silent = threading.Event()
    with process(site.url) as killed:
        wait_until(lambda: partial.exists() and partial.stat().st_size == half)
        killed.kill()
    site.silent.set()
    site.silent = None
    assert fetch(unknown).read_bytes() == CONTENT
    assert site.requested_ranges == [None, f"bytes={half}-"]


def test_of_several_threads_one_downloads(site, pinned):
    threads = [threading.Thread(target=fetch, args=(pinned,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cached_path(pinned).read_bytes() == CONTENT
    assert len(site.requests) == 1


def test_wrong_arguments_are_refused(site, pinned):
    with pytest.raises(ValueError, match=r"unknown data set 'ml-1n': did you mean 'ml-1m'"):
        fetch("ml-1n")
    with pytest.raises(ValueError, match=r"timeout=0: expected a number from 0.01"):
        fetch(pinned, timeout=0)
    with pytest.raises(ValueError, match="attempts=0: expected an integer of at least 1"):
        fetch(pinned, attempts=0)
    with pytest.raises(ValueError, match="url='file:///etc/passwd': expected an address"):
        fetch(pinned, url="file:///etc/passwd")
    assert site.requests == []
    assert not record_path(pinned).exists()
