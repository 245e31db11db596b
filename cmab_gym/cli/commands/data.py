"""`cmab-gym data`: download data sets, check them, and build the bundled tables."""

from __future__ import annotations

import argparse

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_json, name_options
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.envs_data.bundle import build_tables
from cmab_gym.envs_data.downloads.cache import cache_folder, cached, cached_path, verify
from cmab_gym.envs_data.downloads.datasets import DATASETS, dataset
from cmab_gym.envs_data.downloads.fetch import fetch
from cmab_gym.text import write

_DATA_SET = "a data set (see `cmab-gym data list`)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("fetch", help="download a data set into the cache")
    command.add_argument("name", metavar="DATASET", help=_DATA_SET)
    command.add_argument("--url", help="another address of the same file")
    name_options(command, {"url": "--url"})
    command.set_defaults(run=fetch_data)

    command = commands.add_parser("list", help="list the data sets")
    add_json(command)
    command.set_defaults(run=list_data)

    command = commands.add_parser("verify", help="compare cached files with their checksums")
    command.add_argument(
        "names", nargs="*", metavar="DATASET", help="data sets (default: all that are cached)"
    )
    command.set_defaults(run=verify_data)

    command = commands.add_parser("path", help="print the path of a cached file, or of the cache")
    command.add_argument("name", nargs="?", metavar="DATASET", help=_DATA_SET)
    command.set_defaults(run=print_path)

    command = commands.add_parser("build", help="build the bundled tables from the raw archives")
    command.add_argument(
        "raw",
        nargs="?",
        metavar="FOLDER",
        help="folder with ml-1m.zip and goodbooks-10k.zip (default: the cache)",
    )
    command.add_argument(
        "--out", metavar="FOLDER", default="tables", help="folder (default tables)"
    )
    command.set_defaults(run=build)


def fetch_data(chosen: argparse.Namespace) -> int:
    """Download a data set, after printing its terms, and print its path."""
    before = 0
    with progress_bar(chosen.name, dataset(chosen.name).size, "bytes") as advance:

        def report(so_far: int, _: int | None) -> None:
            nonlocal before
            advance(so_far - before)
            before = so_far

        write(fetch(chosen.name, accept=say, progress=report, url=chosen.url))
    return OK


def list_data(_: argparse.Namespace) -> int:
    """Print every data set, its size, and whether it is cached."""
    present = cached()
    rows = [
        (
            name,
            each.title,
            f"{each.size / 1e6:,.1f} MB" if each.size else "",
            "cached" if name in present else "",
        )
        for name, each in DATASETS.items()
    ]
    sets = [
        {"name": name, "title": each.title, "bytes": each.size or None, "cached": name in present}
        for name, each in DATASETS.items()
    ]
    print_document("data list", {"cache_folder": cache_folder(), "data_sets": sets})
    print_table(("name", "title", "size", "status"), rows, text=["title"])
    say(f"\ncache folder: {cache_folder()}")
    return OK


def verify_data(chosen: argparse.Namespace) -> int:
    """Compare cached files with their checksums."""
    names = chosen.names or list(cached())
    for name in names:
        verify(name)
        say(f"{name}: matches its checksum")
    if not names:
        say("no data set is cached")
    return OK


def print_path(chosen: argparse.Namespace) -> int:
    """Print where a data set is cached, or the cache folder."""
    # Unchanged, for a shell: `say` would replace characters and wrap the path.
    print(cached_path(chosen.name) if chosen.name else cache_folder())  # noqa: T201
    return OK


def build(chosen: argparse.Namespace) -> int:
    """Build the bundled tables and print their paths."""
    for path in build_tables(chosen.raw or cache_folder(), chosen.out):
        write(path)
    return OK
