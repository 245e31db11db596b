"""Fuzz every parser and loader: python benchmarks/fuzz/run.py --out FOLDER [--only NAME ...].

Parsers in Python are driven by atheris, which looks for inputs that reach new lines, if it is
installed (pip install ".[fuzz]"); the others get mutations of valid files. Inputs with a structure
are drawn by hypothesis. Each target runs in a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
# The parsers, and the libraries in Python that they call.
_PACKAGES = [
    "cmab_gym.agents.make", "cmab_gym.agents.registry", "cmab_gym.checks", "cmab_gym.envs_data",
    "cmab_gym.evaluation.sweeps.sweep_file", "cmab_gym.evaluation.sweeps.sweep_tasks",
    "cmab_gym.literals", "yaml", "zipfile", "csv", "json",
]  # fmt: skip
# How many inputs each target gets. Files that DuckDB reads take most of the time.
_MOST = {
    "value": 500_000,
    "keywords": 400_000,
    "first line": 200_000,
    "agent name": 20_000,
    "options": 20_000,
    "zip members": 20_000,
    "layout": 20_000,
    "sweep": 15_000,
}
_OTHERS = 3_000
_FILES_OF_RATINGS = 1_500
_GUIDED = {
    "value", "keywords", "agent name", "first line", "sweep", "layout", "text encoding",
    "zip members", "movies.dat", "movies.csv", "u.item", "books.csv", "book_id_map.csv",
    "goodreads_books.json", "users.dat",
}  # fmt: skip


def fuzz(name: str, n_inputs: int, seed: int, out: Path) -> None:
    """Fuzz one target in this process."""
    atheris = _atheris() if name in _GUIDED else None
    with atheris.instrument_imports(include=_PACKAGES) if atheris else contextlib.nullcontext():
        import targets
        from faults import Watch
    folder = Path(tempfile.mkdtemp(prefix="files-"))
    os.chdir(folder)
    target = targets.all_targets(folder)[name]()
    for seed_input in target.seeds:  # imports what is needed, before that counts as a fault
        with contextlib.suppress(Exception):
            target.read(seed_input)
    watch, started = Watch(name, out), time.process_time()

    def one(content: Any) -> None:
        watch.read(lambda: target.read(content), content, target.names)
        if watch.n_inputs % 1000 == 0 or watch.n_inputs >= n_inputs:
            drawn = target.strategy is not None
            how = "hypothesis" if drawn else "atheris" if atheris else "mutations"
            watch.summary(how=how, seconds=round(time.process_time() - started, 1))

    if target.strategy is not None:
        _draw(one, target.strategy, n_inputs, seed)
    elif atheris is not None:
        _guide(atheris, one, target, n_inputs, seed, folder)
    else:
        _mutate(one, target, n_inputs, seed)


def _atheris() -> Any:
    try:
        import atheris
    except ImportError:
        return None
    return atheris


def _draw(one: Any, strategy: Any, n_inputs: int, seed: int) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    @seeded(seed)
    @settings(
        max_examples=n_inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: Any) -> None:
        one(value)

    draw()


def _guide(atheris: Any, one: Any, target: Any, n_inputs: int, seed: int, folder: Path) -> None:
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    for index, content in enumerate(target.seeds):
        (corpus / str(index)).write_bytes(content)
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in target.words)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    options = {
        "runs": n_inputs,
        "seed": seed + 1,
        "max_len": target.largest,
        "rss_limit_mb": 4096,
        "verbosity": 0,
        "artifact_prefix": f"{folder}/",
        **({"dict": words} if target.words else {}),
    }
    atheris.Setup(
        ["fuzz", *(f"-{key}={value}" for key, value in options.items()), str(corpus)], one
    )
    atheris.Fuzz()


def _mutate(one: Any, target: Any, n_inputs: int, seed: int) -> None:
    import numpy as np
    from mutants import mutated

    rng = np.random.default_rng(seed)
    for index in range(n_inputs):
        content = target.seeds[index % len(target.seeds)]
        inside = target.archive and rng.integers(2)
        one(_with_mutated_member(content, rng) if inside else mutated(content, rng))


def _with_mutated_member(content: bytes, rng: Any) -> bytes:
    """Change one member of an archive, or what is in a gzip file; its checksum is right again."""
    from mutants import mutated

    if content.startswith(b"\x1f\x8b"):
        return gzip.compress(mutated(gzip.decompress(content), rng))
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        members = old.infolist()
        chosen = rng.integers(len(members))
        for index, member in enumerate(members):
            inside = old.read(member)
            inside = mutated(inside, rng) if index == chosen and inside else inside
            new.writestr(member.filename, inside, member.compress_type)
    return file.getvalue()


def main() -> None:
    """Fuzz the targets one after another, and print their counts and faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of counts and faults")
    parser.add_argument("--only", nargs="+", help="names of targets")
    parser.add_argument("--inputs", type=int, help="how many for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="one target, in this process")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if given.here:
        (name,) = given.only
        return fuzz(name, given.inputs or most(name), given.seed, out)
    import targets

    known = list(targets.all_targets(Path()))
    for name in given.only or known:
        with tempfile.TemporaryDirectory(prefix="cmab-gym-fuzz-") as scratch:
            command = [sys.executable, "-B", __file__, "--out", str(out), "--only", name, "--here"]
            command += ["--seed", str(given.seed), "--inputs", str(given.inputs or most(name))]
            log = (out / f"{name}.log").open("w", encoding="utf-8")
            env = {**os.environ, "TMPDIR": scratch, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, env=env, stdout=log, stderr=log, check=False)
        summary = out / f"{name}.json"
        print(done.returncode, summary.read_text() if summary.exists() else name, flush=True)
    print(f"{sum(json.loads(p.read_text())['inputs'] for p in out.glob('*.json')):,} inputs")
    return None


def most(name: str) -> int:
    """Return how many inputs a target gets."""
    import targets

    is_slow = name in targets.mutants.KINDS and name not in ("survey.npz", "state.npz", "model.zip")
    return _MOST.get(name, _FILES_OF_RATINGS if is_slow else _OTHERS)


if __name__ == "__main__":
    main()
