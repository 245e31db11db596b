"""No file can run code: what the sources call, and what happens when hostile files are opened."""

import ast
import base64
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mutants import KINDS
from tripwire import Tripwire

from cmab_gym.agents.make import make_agent
from cmab_gym.envs_data import ReadOptions, Survey, read_ratings
from cmab_gym.evaluation import Results
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep
from cmab_gym.literals import read_value
from cmab_gym.state import read_state

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("cmab_gym", "agents", "envs_data")
RISKY_MODULES = {
    *("cloudpickle", "code", "ctypes", "dill", "joblib", "marshal", "pickle", "runpy", "shelve"),
    "subprocess",
}
RISKY_CALLS = {
    *("eval", "exec", "compile", "__import__", "system", "popen", "exec_module", "import_module"),
    *("execv", "execve", "execvp", "spawnv", "read_pickle", "unsafe_load", "full_load"),
}
SAFE_KEYWORDS = {"shell": False, "allow_pickle": False, "weights_only": True}
# What the three packages use, and why no file of a user can reach it.
OWN_PROCESSES = "between a process and the workers that it started, or those of a Dask cluster"
USERS_CODE = "imports code that the user names, or an installed package"
ALLOWED = {
    ("cmab_gym/evaluation/processes/worker.py", "cloudpickle"): OWN_PROCESSES,
    ("cmab_gym/evaluation/processes/worker.py", "pickle"): OWN_PROCESSES,
    ("cmab_gym/evaluation/processes/worker.py", "ctypes"): "prctl, to end with its parent",
    ("cmab_gym/evaluation/processes/calls.py", "cloudpickle"): OWN_PROCESSES,
    ("cmab_gym/evaluation/processes/calls.py", "subprocess"): "starts Python with `worker.serve`",
    ("cmab_gym/evaluation/workers/local.py", "cloudpickle"): OWN_PROCESSES,
    ("cmab_gym/evaluation/workers/cluster.py", "cloudpickle"): OWN_PROCESSES,
    ("cmab_gym/grading/submission.py", "subprocess"): "runs students' agents apart",
    ("cmab_gym/grading/child.py", "exec_module"): USERS_CODE,
    ("agents/loading.py", "exec_module"): USERS_CODE,
    ("agents/loading.py", "import_module"): USERS_CODE,
    ("agents/rl/extra.py", "import_module"): "stable_baselines3",
    ("cmab_gym/report/page.py", "import_module"): "packages of the extra, by their names",
    ("cmab_gym/__init__.py", "import_module"): "modules of this package, by a table of names",
    ("cmab_gym/cli/parser.py", "import_module"): "modules of commands, by a table of names",
}


def risky(tree):
    """Yield what a module imports or calls that could run the content of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            yield from RISKY_MODULES & {each.partition(".")[0] for each in modules}
        if not isinstance(node, ast.Call):
            continue
        is_method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if is_method else getattr(node.func, "id", "")
        if name in RISKY_CALLS and not (is_method and name in ("eval", "compile")):
            yield name
        given = {each.arg: getattr(each.value, "value", None) for each in node.keywords}
        yield from (
            f"{key}={given[key]}"
            for key, safe in SAFE_KEYWORDS.items()
            if key in given and given[key] is not safe
        )
        of = getattr(node.func.value, "id", "") if is_method else ""
        needed = {"torch": "weights_only", "np": "allow_pickle", "yaml": "never"}.get(of, "")
        if name in ("load", "load_all") and needed and needed not in given:
            yield f"{of}.{name}"


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from marshal import loads", "eval('1')", "exec('1')", "os.system('x')",
        "run('x', shell=True)", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f)",
        "np.load(f, allow_pickle=True)", "yaml.load(f)", "yaml.unsafe_load(f)", "pd.read_pickle(f)",
    ],
)  # fmt: skip
def test_what_can_run_code_is_found(line):
    assert list(risky(ast.parse(line)))


def test_the_packages_use_nothing_that_runs_the_content_of_a_file():
    files = [path for each in FOLDERS for path in (REPOSITORY / each).rglob("*.py")]
    own = [path for path in files if path.resolve() == path]  # not through the two links
    assert len(own) > 150
    found = {
        (path.relative_to(REPOSITORY).as_posix(), what)
        for path in own
        for what in risky(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(ALLOWED)


@pytest.fixture(scope="module")
def tripwire():
    return Tripwire()


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("bomb",)


def pickled_survey(path):
    objects = np.array([Bomb()], dtype=object)
    np.savez(path, pseudo_rewards=objects, json=objects, meta=np.array("{}"))


def described_by_pickle(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cmab_gym.json", pickle.dumps(Bomb()))
        archive.writestr("policy.pth", pickle.dumps(Bomb()))


def pickled_weights(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cmab_gym.json", json.dumps({"format": 1, "width": 4, "horizon": 9}))
        archive.writestr("policy.pth", torch_saved())


def serialized_in_json(path):
    code = base64.b64encode(pickle.dumps(Bomb())).decode()
    data = {
        "policy_class": {":serialized:": code, "__module__": "stable_baselines3.dqn.policies"},
        "policy_kwargs": {":serialized:": code},
        "observation_space": {":type:": "Discrete", ":serialized:": code, "n": "1"},
        "action_space": {":type:": "Discrete", ":serialized:": code, "n": "2", "start": "0"},
        "exploration_rate": 0.1,
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps(data))
        archive.writestr("policy.pth", torch_saved())
        archive.writestr("pytorch_variables.pth", pickle.dumps(Bomb()))


def torch_saved():
    import torch

    saved = io.BytesIO()
    torch.save({"q_net.q_net.0.weight": Bomb()}, saved)
    return saved.getvalue()


def typed_by_pickle(path):
    """Write a Parquet file with the type that pyarrow before 14.0.1 unpickled by itself."""
    metadata = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Bomb()),
    }
    names = ("user_id", "book_id", "rating", "agent", "trial", "round", "regret")
    fields = [pa.field(name, pa.int64(), metadata=metadata) for name in names]
    rows = [pa.array([1, 2])] * len(names)
    schema = pa.schema(fields, metadata={"cmab_gym_manifest": pickle.dumps(Bomb())})
    pq.write_table(pa.table(rows, schema=schema), path)


def tagged(path):
    path.write_text("environments: !!python/object/apply:os.mkdir [bomb]\nagents: [ucb]\n")


def an_agent_that_calls(path):
    path.write_text(
        "environments: [CMAB-Tabular-v0]\nagents: [\"ucb(B=__import__('os').mkdir('bomb'))\"]\n"
    )


INJECTED = "a\"; COPY (SELECT 1) TO 'bomb'; --"


def named_by_sql(path):
    pd.DataFrame({INJECTED: [1, 2], "b'": [1, 2], "c": [3, 4]}).to_parquet(path)


def commands(path):
    path.write_text(f'"{INJECTED.replace(chr(34), chr(34) * 2)}",b\',c\n1,1,$(touch bomb)\n')


def read_injected(path):
    read_ratings(path, ReadOptions(INJECTED, "b'", "c"))


def read_sweep(path):
    for task in Sweep.from_file(path).tasks():
        make_agent(task.agent)


HOSTILE_FILES = {
    "an array of objects": (pickled_survey, "survey.npz", Survey.load),
    "a state with objects": (pickled_survey, "state.npz", read_state),
    "a pickle as description": (described_by_pickle, "model.zip", make_agent),
    "a tag": (tagged, "sweep.yaml", read_sweep),
    "a call in an agent's name": (an_agent_that_calls, "sweep.yaml", read_sweep),
    "a pickled type of ratings": (typed_by_pickle, "ratings.parquet", read_ratings),
    "a pickled type of results": (
        typed_by_pickle,
        "results.parquet",
        lambda path: Results.load(path.parent),
    ),
    "SQL in a Parquet file": (named_by_sql, "ratings.parquet", read_injected),
    "SQL in a CSV file": (commands, "ratings.csv", read_injected),
}
HOSTILE_MODELS = {
    "pickled weights": (pickled_weights, "model.zip", make_agent),
    "pickles in JSON": (serialized_in_json, "model.zip", make_agent),
}


def opened_without_running(tripwire, hostile, tmp_path, monkeypatch):
    write, name, read = hostile
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    write(path)
    with tripwire.armed(tmp_path) as events:
        try:
            read(str(path) if read is make_agent else path)
        except (ValueError, OSError) as error:
            print(error)
    assert events == []
    assert not Path("bomb").exists()


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_runs_nothing(name, tripwire, tmp_path, monkeypatch):
    opened_without_running(tripwire, HOSTILE_FILES[name], tmp_path, monkeypatch)


@pytest.mark.rl
@pytest.mark.parametrize("name", HOSTILE_MODELS)
def test_a_hostile_model_runs_nothing(name, tripwire, tmp_path, monkeypatch):
    opened_without_running(tripwire, HOSTILE_MODELS[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_instead_of_a_file_is_refused(kind, tripwire, tmp_path, monkeypatch):
    path, read = tmp_path / kind, KINDS[kind][1]
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(Bomb()))
    with tripwire.armed(tmp_path) as events, pytest.raises(ValueError, match=kind):
        read(path)
    assert events == []
    assert not Path("bomb").exists()


def test_text_that_calls_is_text():
    assert read_value("__import__('os').mkdir('bomb')") == "__import__('os').mkdir('bomb')"


def test_the_tripwire_notices(tripwire, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outside = Path("/no-such-folder/file")
    with tripwire.armed() as events:
        pickle.loads(pickle.dumps(Bomb()))  # noqa: S301
        exec("pass")  # noqa: S102
        with pytest.raises(OSError, match="file"):
            outside.open("w")
    assert [each.split()[0] for each in events] == ["pickle.find_class", "exec", "open"]
