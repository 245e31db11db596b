"""Compare our speed with that of other bandit libraries, on 50 Bernoulli arms.

Each library has an adapter in `peers/` and a virtual environment in a cache folder, made on first
use. A library that cannot be installed or run is left out, with the reason.

python benchmarks/peers.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from process import HERE

CACHE = user_cache_path("cmab-gym", appauthor=False) / "benchmarks"


@dataclass(frozen=True)
class Peer:
    """A library, its adapter in `peers/`, and packages to install; none: this environment."""

    name: str
    adapter: str
    packages: tuple[str, ...] = ()


PEERS = (
    Peer("cmab-gym", "ours.py"),
    Peer("xbandits", "xbandits_ucb.py", ("xbandits",)),
    Peer("SMPyBandits", "smpybandits_play.py", ("SMPyBandits", "scipy<1.12", "numpy<2")),
    Peer("rovingbandit", "rovingbandit_online.py", ("rovingbandit",)),
    Peer("banditlab", "banditlab_ts.py", ("banditlab",)),
    Peer("PyMAB", "pymab_native.py", ("pymab",)),
    Peer("MABWiser", "mabwiser_online.py", ("mabwiser",)),
    Peer("Gymnasium, empty", "gymnasium_empty.py"),
)


def measure(cache: Path = CACHE) -> dict[str, dict[str, Any]]:
    """Return rounds a second by library and agent, with the version or the reason of a failure."""
    return {peer.name: run(peer, cache) for peer in PEERS}


def run(peer: Peer, cache: Path) -> dict[str, Any]:
    """Install a library if needed, and run its adapter."""
    try:
        python = interpreter(peer, cache)
        done = called(python, str(HERE / "peers" / peer.adapter))
    except (subprocess.CalledProcessError, OSError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        print(f"left out: {peer.name}: {lines[-1]}", file=sys.stderr)
        return {"failed": lines[-1]}
    speeds: dict[str, Any] = json.loads(done.splitlines()[-1])
    return {"rounds_per_second": speeds, "version": installed_version(python, peer)}


def interpreter(peer: Peer, cache: Path) -> str:
    """Return the Python interpreter that has the library; make its environment if needed."""
    if not peer.packages:
        return sys.executable
    folder = cache / f"{peer.name}-python{sys.version_info[0]}.{sys.version_info[1]}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        called(str(python), "-m", "pip", "install", "--quiet", *peer.packages)
        ready.touch()
    return str(python)


def installed_version(python: str, peer: Peer) -> str:
    """Return the version of the library in its environment."""
    name = peer.packages[0] if peer.packages else peer.name.split(",")[0].lower()
    program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    return called(python, "-c", program, name).strip()


def called(*command: str) -> str:
    """Run a command and return its output."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def table(found: dict[str, dict[str, Any]]) -> list[Sequence[str]]:
    """Return rows: library, agent, rounds a second, and our speeds as multiples of it."""
    ours = found["cmab-gym"]["rounds_per_second"]
    many, one = "100 trials", "1 trial"
    rows: list[Sequence[str]] = [
        ("library", "played", "rounds/s", f"cmab-gym, {many}: times", f"cmab-gym, {one}: times")
    ]
    for name, measured in found.items():
        if "failed" in measured:
            rows.append((name, f"left out: {measured['failed']}", "", "", ""))
            continue
        for what, speed in measured["rounds_per_second"].items():
            same = [ours.get(f"{what.split(',')[0]}, {trials}") for trials in (many, one)]
            times = ["" if each is None else f"{each / speed:,.2f}" for each in same]
            rows.append((f"{name} {measured['version']}", what, f"{speed:,}", *times))
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
