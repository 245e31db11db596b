"""The data sets that can be downloaded: their addresses, checksums and terms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cmab_gym import checks


@dataclass(frozen=True)
class Dataset:
    """One file on the web.

    Args:
        name: its name in cmab-gym.
        title: its published name.
        url: its address, http or https.
        file: its file name in the cache.
        licence: the terms, in one to three sentences.
        citation: the publications to cite.
        size: its length in bytes, None if unknown.
        checksum: "md5:..." or "sha256:..." in lower case; None trusts the first download.

    Raises:
        ValueError: `url`, `file` or `checksum` is not of this form.
    """

    name: str
    title: str
    url: str
    file: str
    licence: str
    citation: str
    size: int | None = None
    checksum: str | None = None

    def __post_init__(self) -> None:
        if not re.match(r"https?://\S+\Z", self.url):
            raise ValueError(
                f"url={self.url!r}: expected an address that starts with https:// or http://"
            )
        # A name with a folder in it would be written outside the cache.
        if not re.fullmatch(r"\w[\w.-]*", self.file):
            raise ValueError(f"file={self.file!r}: expected a bare file name without folders")
        pattern = r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}"
        if self.checksum is not None and not re.fullmatch(pattern, self.checksum):
            raise ValueError(f"checksum={self.checksum!r}: expected md5:... or sha256:... in hex")

    @property
    def terms(self) -> str:
        """The text to read before the first download: title, address, licence, citation."""
        lines = [self.title, f"From {self.url}", self.licence, f"Cite {self.citation}."]
        if self.checksum is None:
            lines.append(
                "No checksum of this file is known: the first download is trusted, and its "
                "SHA-256 is kept next to it so that later changes are found."
            )
        return "\n".join(lines)


_ML_URL = "https://files.grouplens.org/datasets/movielens"
_UCSD_URL = "https://mcauleylab.ucsd.edu/public_datasets/gdrive/goodreads"
_GROUPLENS = (
    "GroupLens terms of use: research only, cite the source, no endorsement implied. "
    "Commercial use needs permission. "
)
_NO_COPIES = f"{_GROUPLENS}The ratings may not be redistributed without permission."
_COPIES = f"{_GROUPLENS}The ratings may be redistributed under these same terms."
_HARPER = (
    "F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets: History and Context, "
    "ACM Transactions on Interactive Intelligent Systems 5(4):19, doi:10.1145/2827872"
)
_UCSD = (
    "UCSD Book Graph: for academic use only. It may be neither redistributed nor used commercially."
)
_WAN = (
    "M. Wan and J. McAuley (2018), Item Recommendation on Monotonic Behavior Chains, RecSys, "
    "doi:10.1145/3240323.3240369, and M. Wan, R. Misra, N. Nakashole and J. McAuley (2019), "
    "Fine-Grained Spoiler Detection from Large-Scale Review Corpora, ACL, doi:10.18653/v1/P19-1248"
)

# fmt: off
# Name, title, terms, bytes and SHA-256. Sizes and checksums are those of TensorFlow Datasets
# (url_checksums/movielens.txt), and of OmniRec for 10M and several projects for 32M; all agree
# with the MD5 that GroupLens publishes. GroupLens replaces "latest" from time to time.
_MOVIELENS = (
    ("ml-100k", "MovieLens 100K", _NO_COPIES, 4_924_029,
     "sha256:50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229"),
    ("ml-1m", "MovieLens 1M", _NO_COPIES, 5_917_549,
     "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20"),
    ("ml-10m", "MovieLens 10M", _NO_COPIES, 65_566_137,
     "sha256:813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862"),
    ("ml-20m", "MovieLens 20M", _NO_COPIES, 198_702_078,
     "sha256:96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3"),
    ("ml-25m", "MovieLens 25M", _NO_COPIES, 261_978_986,
     "sha256:8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa"),
    ("ml-32m", "MovieLens 32M", _COPIES, 238_950_008,
     "sha256:e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee"),
    ("ml-latest", "MovieLens Latest", _COPIES, None, None),
    ("ml-latest-small", "MovieLens Latest Small (September 2018)", _COPIES, 978_202,
     "sha256:696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436"),
)

# Name, title, path, bytes and checksum. The SHA-256 is OmniRec's (its other checksums agree with
# TensorFlow Datasets); the MD5 are those of the PIReT book data tools.
_GOODREADS = (
    ("goodreads-poetry", "Goodreads poetry: interactions",
     "byGenre/goodreads_interactions_poetry.json.gz", None,
     "sha256:65fb9777f5e482695f0e4b71ef9884f6a7e5ab31c224dabc7ae0c2dcd60e49de"),
    ("goodreads-poetry-books", "Goodreads poetry: books",
     "byGenre/goodreads_books_poetry.json.gz", None, None),
    ("goodreads-interactions", "Goodreads: interactions of all genres",
     "goodreads_interactions.csv", 4_318_621_741, "md5:696fbf71f0082c0b6a2379182b147c1e"),
    ("goodreads-book-id-map", "Goodreads: book ids of the interactions",
     "book_id_map.csv", 37_846_957, "md5:c4e5afd568df2f7a4a8a52f3eeb88413"),
)
# fmt: on

_ALL = (
    *(
        Dataset(name, title, f"{_ML_URL}/{name}.zip", f"{name}.zip", terms, _HARPER, size, checksum)
        for name, title, terms, size, checksum in _MOVIELENS
    ),
    Dataset(
        "goodbooks-10k",
        "Goodbooks-10k",
        "https://github.com/zygmuntz/goodbooks-10k/releases/download/v1.0/goodbooks-10k.zip",
        "goodbooks-10k.zip",
        "Creative Commons Attribution-ShareAlike 4.0 International (CC BY-SA 4.0).",
        "Z. Zajac (2017), Goodbooks-10k: a new dataset for book recommendations, FastML, "
        "http://fastml.com/goodbooks-10k",
    ),
    *(
        Dataset(name, title, f"{_UCSD_URL}/{path}", Path(path).name, _UCSD, _WAN, size, checksum)
        for name, title, path, size, checksum in _GOODREADS
    ),
)

DATASETS = MappingProxyType({known.name: known for known in _ALL})


def dataset(name: str | Dataset) -> Dataset:
    """Look up a data set.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own, which is returned unchanged.

    Raises:
        ValueError: `name` is not a known data set; the nearest names are suggested.
    """
    if isinstance(name, Dataset):
        return name
    return DATASETS[checks.choice("data set", name, DATASETS)]
