"""What is fuzzed: one target for each parser, with valid inputs to start from."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mutants
import numpy as np
import yaml
from hypothesis import strategies as st

from cmab_gym import evaluate
from cmab_gym.agents.make import agent_factory, name_and_parameters
from cmab_gym.agents.registry import agent_names
from cmab_gym.agents.rl.model_file import read_description
from cmab_gym.envs_data import ReadOptions, Survey, read_ratings
from cmab_gym.envs_data.readers.archive import open_files
from cmab_gym.envs_data.readers.formats import find_layout
from cmab_gym.envs_data.readers.items import read_items
from cmab_gym.envs_data.readers.layout import Layout, header_of, json_object
from cmab_gym.envs_data.readers.text_file import first_line, prepare
from cmab_gym.envs_data.readers.users import read_segments
from cmab_gym.envs_data.surveys import survey
from cmab_gym.evaluation import Results
from cmab_gym.evaluation.results import parquet, results_file
from cmab_gym.evaluation.results.unfinished import Kept
from cmab_gym.evaluation.sweeps.sweep_file import read_sweep_file
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep
from cmab_gym.files import write_arrays
from cmab_gym.literals import read_keywords, read_value


@dataclasses.dataclass(frozen=True)
class Target:
    """A parser.

    Args:
        read: reads an input: bytes, or a value that `strategy` draws.
        seeds: valid inputs, which are mutated.
        strategy: draws inputs with their structure; then `seeds` are not used.
        names: text that each error must hold, such as the name of the file.
        words: texts with a meaning in the format.
        largest: bytes of an input.
        archive: whether members of a zip archive are mutated, so that their checksums are right.
    """

    read: Callable[[Any], Any]
    seeds: tuple[bytes, ...] = ()
    strategy: Any = None
    names: str = ""
    words: tuple[str, ...] = ()
    largest: int = 1 << 16
    archive: bool = False


def all_targets(folder: Path) -> dict[str, Callable[[], Target]]:
    """Return how each target is made, by name.

    Args:
        folder: where the files are written that parsers read.
    """
    made: dict[str, Callable[[], Target]] = {
        "value": lambda: _text(read_value, _VALUES),
        "keywords": lambda: _text(read_keywords, [f"a={v}, b={v}" for v in _VALUES]),
        "agent name": lambda: _text(_agent, _AGENTS),
        "agent with parameters": lambda: Target(_agent, strategy=_agent_names()),
        "first line": lambda: _text(_first_line, _LINES),
        "options": lambda: Target(lambda given: ReadOptions(**given), strategy=_options()),
        "sweep": lambda: _of_file(folder / "sweep.yaml", read_sweep_file, *_SWEEPS),
        "sweep with values": lambda: _sweep_of_values(folder / "values.yaml"),
        "table of cells": lambda: _table_of_cells(folder / "cells.csv"),
        "text encoding": lambda: _of_file(folder / "text.csv", _prepare, *_TEXTS),
        "layout": lambda: _of_file(folder / "ratings.any", _layout, *_TABLES),
        "zip members": lambda: _of_file(folder / "all.zip", _members, *_zips()),
        "stable-baselines3": lambda: _sb3(folder / "sb3.zip"),
        "trained agent": lambda: _trained(folder / "trained.zip"),
        "forged survey": lambda: Target(_forged_survey(folder), strategy=_changes()),
        "forged run": lambda: Target(_forged_run(folder), strategy=_changes(), names="unfinished"),
        "forged results": lambda: Target(_forged_results(folder), strategy=_changes()),
    }
    for name in _ITEMS:
        made[name] = lambda name=name: _items(folder, name)
    for kind in mutants.KINDS:
        made[kind] = lambda kind=kind: _of_kind(folder / kind, kind)
    return made


def _text(read: Callable[[str], Any], examples: Any) -> Target:
    words = (*"()[]{},=:'\"\\#*-+.", "None", "true", "1e9", "0x", "_1", "1j", "b''", "...", "ucb")
    return Target(
        lambda content: read(content.decode("utf-8", "surrogateescape")),
        tuple(each.encode() for each in examples),
        words=words,
        largest=2000,
    )


def _of_file(path: Path, read: Callable[[Path], Any], *seeds: bytes, **more: Any) -> Target:
    def write_and_read(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    return Target(write_and_read, seeds, names=path.name, **more)


def _of_kind(path: Path, kind: str) -> Target:
    write, read = mutants.KINDS[kind]
    write(path)
    is_archive = zipfile.is_zipfile(path) or kind.endswith(".gz")
    return _of_file(path, read, path.read_bytes(), archive=is_archive, largest=1 << 20)


# --- texts

_VALUES = (
    "5", "-0.5", "1e-3", "[1, 2, (3,)]", "{'a': None, 'b': true}", "'x y'", "movie", "007", "1_000",
    "{1, 2}", "b'x'", "1+2j", "0x1f", '"\\x41\\N{BULLET}"', "...", "{**a}", "f'{x}'",
    "x if y else z", "lambda: 0", "{[]}", "((((1))))",
)  # fmt: skip
_AGENTS = (
    "c-ucb(B=5)", "ts(beta=2, B=1.5)", "tc-ts", "exp3(eta=None)", "model.zip(greedy=True)",
    "c-explore-then-commit(pulls=3)", "oracle()", "c-kl-ucb(c=-1)", "moss(", "imed(x=[1])",
)  # fmt: skip
_LINES = (
    "userId,movieId,rating,timestamp", "1::2::3.5::4", "1\t2\t3\t4", '{"user_id": 1, "b": [2]}',
    'a;"b;c";d', "user_id|book_id|rating", "\ufeffuser,item,rating", '"unclosed,a',
)  # fmt: skip


def _agent(name: str) -> None:
    base, parameters = name_and_parameters(name)
    if ":" not in base:  # "module:Class" and "file.py:Class" are code, which runs
        agent_factory(base, **parameters)()


def _first_line(text: str) -> None:
    _, line = first_line(text.encode("utf-8", "surrogateescape"))
    for delimiter in (",", "\t", "::", ";"):
        header_of(line, delimiter)
    json_object(line)


# --- values with their structure

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.binary(max_size=4), st.complex_numbers(),
    st.sampled_from([10**400, 2**63, -1, 0, 1, 1e308, "auto", "log", ...]),
)  # fmt: skip
_ANYTHING = st.sampled_from([10**400, -(10**400)]) | st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    max_leaves=6,
)


def _agent_names() -> Any:
    """Draw the names of agents with parameters that they have, and any values."""
    import inspect

    from cmab_gym.agents.registry import INDEX_AGENTS, agent_class, is_policy, split_prefix

    learning = ("ppo", "a2c", "dqn")
    parameters = {}
    for name in agent_names():
        prefix, _ = split_prefix(name)
        cls = agent_class(name)
        known = [*inspect.signature(cls).parameters]
        if is_policy(cls):
            known += [*inspect.signature(INDEX_AGENTS[prefix]).parameters]
        parameters[name] = sorted({*known, "x"} - {"policy"})
    names = sorted(name for name in parameters if name not in learning)

    def with_values(name: str) -> Any:
        given = st.dictionaries(st.sampled_from(parameters[name]), _ANYTHING, max_size=2)
        return given.map(lambda each: name + _in_brackets(each))

    return st.sampled_from(names).flatmap(with_values)


def _in_brackets(parameters: dict[str, Any]) -> str:
    return f"({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"


def _options() -> Any:
    fields = [each.name for each in dataclasses.fields(ReadOptions)]
    hashable = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=2))
    return st.dictionaries(st.sampled_from(fields), hashable, max_size=5)


_SWEEPS = (
    mutants.SWEEP.encode(),
    b"environments: [CMAB-Latent-v0]\nagents:\n - ucb # comment\n - name: ts\n   beta: [1, '2']\n",
    b"? a\n: |\n  text\n  more\nb: >-\n  folded\nc: !!python/object:os.system x\n",
    b"%YAML 1.2\n---\n{a: [&x 1, *x], b: \"\\u263a\\x41\", <<: {c: ~}}\n...\n",
)  # fmt: skip


_CELLS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.sampled_from(
        [
            "1",
            "2",
            "5",
            "4.5",
            "-0",
            "nan",
            "inf",
            "1e400",
            "1e308",
            "007",
            "1_0",
            "true",
            "",
            " ",
            '"',
            "\\",
            "\0",
        ]
    ),
)


def _table_of_cells(path: Path) -> Target:
    """Draw tables of odd cells, and how they are written and read."""
    odd, plain = st.lists(_CELLS, min_size=2, max_size=5), st.sampled_from(["1", "2", "5", "007"])
    tables = st.tuples(
        st.lists(odd | st.lists(plain, min_size=4, max_size=4), min_size=1, max_size=6),
        st.sampled_from([",", ";", "\t", "::", "|"]),
        st.sampled_from(["", "user_id,book_id,rating\n", "userId,movieId,rating,timestamp\n"]),
        st.sampled_from(["", '"']),
        st.sampled_from(["\n", "\r\n", "\r"]),
        st.sampled_from(["raise", "skip"]),
        st.sampled_from(["utf-8", "utf-16", "latin-1"]),
        st.sampled_from(["category", "time", "segment_by", ""]),
        st.sampled_from(['"', "", ";"]),
        st.sampled_from(["", "\\", "|"]),
    )

    def read(drawn: Any) -> None:
        rows, separator, header, quote, end, on_error, encoding, other, mark, escape = drawn
        lines = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
        text = header.replace(",", separator).replace("\n", end) + end.join(lines)
        path.write_bytes(text.encode(encoding, "replace"))
        columns = header.strip().split(",") if header else [0, 1, 2, 3]
        given = {"separator": separator, "encoding": encoding, "on_error": on_error}
        given |= {"quote": mark, "escape": escape}
        if other:
            given[other] = columns[-1]
        read_ratings(path, ReadOptions(*columns[:3], **given))

    return Target(read, strategy=tables, names=path.name)


def _sweep_of_values(path: Path) -> Target:
    keys = [each.name for each in dataclasses.fields(Sweep) if each.name != "source"]
    sensible = {
        "environments": st.lists(
            st.one_of(
                st.sampled_from(["CMAB-Tabular-v0", "CMAB-Ratings-v0", "x"]),
                st.fixed_dictionaries(
                    {"id": st.just("CMAB-Tabular-v0")},
                    optional={"preset": _ANYTHING, "means": _ANYTHING, "data": _ANYTHING},
                ),
            ),
            max_size=3,
        ),
        "agents": st.lists(
            st.one_of(
                st.sampled_from(["ucb", "c-ts(beta=2)"]),
                st.fixed_dictionaries({"name": st.just("ucb")}, optional={"B": _ANYTHING}),
            ),
            max_size=3,
        ),
    }
    documents = st.fixed_dictionaries(
        {key: st.one_of(sensible.get(key, _ANYTHING), _ANYTHING) for key in keys[:2]},
        optional=dict.fromkeys((*keys[2:], "source", "other"), _ANYTHING),
    )

    def read(document: Any) -> None:
        path.write_text(yaml.safe_dump(_plain(document), allow_unicode=True), "utf-8", "replace")
        Sweep.from_file(path).tasks()

    return Target(read, strategy=documents, names=path.name)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bool | int | float | str | None):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    return repr(value)


# --- text files of ratings, without DuckDB

_TEXTS = (
    mutants.CSV[:300].encode(), "ä,ö,ü\r\n1,2,3\r\n".encode(), "\ufeffa,b,c\r1,2,3".encode(),
    "a,b\n1,2\n".encode("utf-16"), gzip.compress(b"a,b\n1,2\n"), b"a,b\n1,\xff\n",
)  # fmt: skip


def _prepare(path: Path) -> None:
    for encoding in ("utf-8", "utf-16", "cp1252", "shift_jis", "utf-7"):
        with open_files(path) as files:
            prepare(files, path.name, encoding)


_TABLES = (
    b"1\t2\t3\t4\n", b"1::2::3.5::4\n", mutants.RATINGS[:200].encode(), mutants.CSV[:200].encode(),
    b'{"user_id": 1, "book_id": 2, "rating": 3}\n', gzip.compress(mutants.RATINGS[:200].encode()),
    b"user_id,book_id,is_read,rating,is_reviewed\n1,2,1,3,0\n", b"PAR1" + bytes(20) + b"PAR1",
    b"PK\x03\x04" + bytes(40),
)  # fmt: skip
_COLUMNS = ReadOptions("user_id", "book_id", "rating")


def _layout(path: Path) -> None:
    problems = []
    for options in (ReadOptions(), _COLUMNS, ReadOptions(0, 1, 2), ReadOptions(separator="\t")):
        try:
            with open_files(path) as files:
                find_layout(files, options)
        except (ValueError, OSError) as error:
            problems.append(error)
    for error in problems:
        raise error


_ITEMS = {
    "movies.dat": ("movies", "1::Toy Story (1995)::Animation|Comedy\n2::Ça (1999)::Drama\n"),
    "movies.csv": ("movies", mutants.MOVIES),
    "u.item": ("movies", "1|Toy|01-Jan-1995||http|" + "|".join("0110000000000000001") + "\n"),
    "books.csv": ("books", "id,book_id,authors,title\n1,27,A,The Book\n2,3,B,\"A, B\"\n"),
    "book_id_map.csv": ("goodreads", "book_id_csv,book_id\n0,34684622\n1,3\n"),
    "goodreads_books.json": ("goodreads", '{"book_id": "5", "title": "A"}\n'),
    "users.dat": ("movies", "1::F::1::10::48067\n2::M::56::16::70072\n"),
}  # fmt: skip


def _items(folder: Path, name: str) -> Target:
    items, example = _ITEMS[name]
    inside = folder / f"of {name}"
    inside.mkdir()
    (inside / "ratings").write_bytes(b"")
    layout = Layout("", "ratings", items=items)

    def read(path: Path) -> None:
        with open_files(inside) as files:
            read_items(files, layout, [0, 1, 2, 5])
            read_segments(files, layout, [1, 2])

    return _of_file(inside / name, read, example.encode(), largest=4000)


# --- archives


def _zipped(members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _zips() -> list[bytes]:
    members = {"a/ratings.csv": mutants.RATINGS[:200].encode(), "a/movies.csv": b"x", "b": b""}
    return [_zipped(members, how) for how in (0, 8, 12, 14)]


def _members(path: Path) -> None:
    with open_files(path) as files:
        for name in files.names:
            for _ in files.blocks(name):
                pass
            files.on_disk(name)
            files.is_gzip(name)


def _sb3(path: Path) -> Target:
    import torch

    from cmab_gym.agents.rl.sb3_agent import SB3Agent
    from cmab_gym.agents.rl.sb3_file import is_sb3_file

    weights = {}
    for layer, (n_out, n_in) in {
        "mlp_extractor.policy_net.0": (4, 1),
        "action_net": (3, 4),
        "value_net": (1, 4),
    }.items():
        weights[f"{layer}.weight"], weights[f"{layer}.bias"] = (
            torch.ones(n_out, n_in),
            torch.ones(n_out),
        )
    saved = io.BytesIO()
    torch.save(weights, saved)
    data = {
        "policy_class": {
            ":type:": "<class 'abc.ABCMeta'>",
            "__module__": "stable_baselines3.common.policies",
        },
        "policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.Tanh'>"},
        "observation_space": {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "1"},
        "action_space": {
            ":type:": "<class 'gymnasium.spaces.discrete.Discrete'>",
            "n": "3",
            "start": "0",
        },
        "exploration_rate": 0.05,
    }
    seed = _zipped({"data": json.dumps(data).encode(), "policy.pth": saved.getvalue()})

    def read(path: Path) -> None:
        is_sb3_file(path)
        SB3Agent(path)

    return _of_file(path, read, seed, archive=True)


def _trained(path: Path) -> Target:
    import torch

    from cmab_gym.agents.rl.arm_networks import ArmScores
    from cmab_gym.agents.rl.trained import TrainedAgent

    weights = {f"mlp_extractor.actor.{k}": v for k, v in ArmScores(4).state_dict().items()}
    saved = io.BytesIO()
    torch.save(weights, saved)
    description = json.dumps({"format": 1, "width": 4, "horizon": 100}).encode()
    seed = _zipped({"cmab_gym.json": description, "policy.pth": saved.getvalue()})

    def read(path: Path) -> None:
        read_description(path)
        TrainedAgent(path)

    return _of_file(path, read, seed, archive=True)


# --- files with a right checksum, whose content is wrong

_NUMBERS = st.one_of(st.floats(), st.integers(-3, 3), st.sampled_from([1e308, -1e308, 5.0, 1e-300]))


def _changes() -> Any:
    """Draw changes of parts: which one, how, and values for them."""
    change = st.tuples(
        st.integers(0, 30),
        st.sampled_from(["value", "values", "shape", "type", "drop", "anything"]),
        st.lists(_NUMBERS, min_size=1, max_size=4),
        _ANYTHING,
    )
    return st.lists(change, min_size=1, max_size=3)


def _changed_array(array: np.ndarray, how: str, values: list[Any], anything: Any) -> np.ndarray:
    changed = np.array(array)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how == "type":
            return changed.astype(["<f4", "<i4", "<U3", "|b1", "<c16"][len(values)])
        if how == "shape":
            return changed.reshape(-1)[: len(values)]
        if how == "anything":
            return np.array(repr(anything))
        if changed.size and changed.dtype.kind == "f":
            flat = changed.reshape(-1)
            n_values = 1 if how == "value" else flat.size
            flat[:n_values] = np.resize(np.array(values, float), n_values)
        elif changed.size and changed.dtype.kind in "iu":
            changed.reshape(-1)[0] = int(values[0]) if abs(values[0]) < 2**62 else -1
    return changed


def _changed_json(content: dict[str, Any], at: int, how: str, anything: Any) -> None:
    key = sorted(content)[at % len(content)]
    if how == "drop":
        del content[key]
    elif isinstance(content[key], dict) and content[key] and how == "value":
        _changed_json(content[key], at // 3, "anything", anything)
    else:
        content[key] = anything


def _forged_survey(folder: Path) -> Callable[[Any], None]:
    path = folder / "forged.npz"
    taken = mutants.bundled_survey(mutants.SurveySpec("goodreads", "book", 0.5))
    few = Survey(
        taken.pseudo_rewards[:3, :3],
        taken.training_counts[:3], taken.test_counts[:3], taken.reward_support,
        taken.reward_bounds, taken.arm_names[:3], "stars", {"task": "book"},
    )  # fmt: skip
    few.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        original = {name: arrays[name] for name in arrays.files if name != "checksum"}

    def read(changes: Any) -> None:
        arrays = dict(original)
        meta = json.loads(str(arrays["meta"]))
        for at, how, values, anything in changes:
            name = sorted(arrays)[at % len(arrays)]
            if name == "meta":
                _changed_json(meta, at, how, anything)
            elif how == "drop":
                del arrays[name]
            else:
                arrays[name] = _changed_array(arrays[name], how, values, anything)
        arrays["meta"] = np.array(json.dumps(meta, default=repr))
        arrays["checksum"] = np.array(survey._checksum(arrays))
        write_arrays(path, arrays)
        loaded = Survey.load(path)
        loaded.model(mask=0.5, pad=0.1)

    return read


def _forged_run(folder: Path) -> Callable[[Any], None]:
    """Return a reader of changed descriptions of an unfinished run."""
    path = folder / "unfinished"
    made = evaluate("CMAB-Tabular-v0", ["ucb"], 20, 3, seed=0)
    original = json.loads(json.dumps(dict(made.manifest), default=results_file.as_json))
    Kept(path).begin(made.manifest, made.checkpoints)
    run = path / results_file.UNFINISHED / results_file.RUN
    written = json.loads(run.read_text("utf-8"))

    def read(changes: Any) -> None:
        described = json.loads(json.dumps(written))
        for at, how, _, anything in changes:
            if described:
                _changed_json(described, at, how, anything)
        run.write_text(json.dumps(described, default=repr), "utf-8")
        Kept.opened(path, True, original, made.checkpoints)

    return read


def _forged_results(folder: Path) -> Callable[[Any], None]:
    made = evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb"], 20, 3, seed=0).save(folder / "results")
    path = made / results_file.TABLE
    columns, metadata = parquet.read_table(path)
    original = json.loads(metadata[results_file._TEXT])

    def read(changes: Any) -> None:
        manifest = json.loads(json.dumps(original))
        for at, how, _, anything in changes:
            if manifest:
                _changed_json(manifest, at, how, anything)
        text = json.dumps(manifest, default=repr)
        runs = _runs_of(manifest, columns)
        digest = results_file._digest(text, runs)
        parquet.write_table(path, columns, {results_file._TEXT: text, results_file._DIGEST: digest})
        loaded = Results.load(made)
        repr(loaded)
        loaded.to_pandas()
        loaded.summary()
        str(loaded)

    return read


def _runs_of(manifest: dict[str, Any], columns: Any) -> list[Any]:
    """Return the runs that `read` finds in a table; none where it finds an error."""
    try:
        checkpoints = tuple(manifest["checkpoints"])
        own = {
            name: manifest.get(name, {})
            for name in ("agent_seconds", "failures", "agent_peak_memory", "n_arms")
        }
        first = manifest.get("first_trial", 0)
        return [
            results_file._run(label, columns, checkpoints, own, first)
            for label in own["agent_seconds"]
        ]
    except Exception:
        return []
