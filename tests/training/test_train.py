"""Training of agents, the files they are saved in, and the arms they pull."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import cmab_gym
from cmab_gym import check_agent, evaluate, make_agent
from cmab_gym.cli import main
from cmab_gym.training import train

pytestmark = pytest.mark.rl

SHORT = {"horizon": 50, "n_arms": 3, "seed": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Train a PPO agent long enough to play better than at random."""
    path = tmp_path_factory.mktemp("models") / "ppo (1).zip"
    train("ppo", "bernoulli", path, 60_000, **SHORT)
    return path


def weights(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("policy.pth")


def changed(path, to, **entries):
    """Copy a model's file and replace some of its entries."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            new.writestr(name, entries.get(name.replace(".", "_"), old.read(name)))
    return to


def test_a_trained_agent_beats_random_play_on_new_problems(model):
    pmf = np.outer([0.5, 0.5], np.outer([0.8, 0.2], [0.2, 0.8])).reshape(2, 2, 2).tolist()
    results = evaluate(
        "CMAB-Tabular-v0",
        {"ppo": str(model), "greedy": f"{model}(greedy=True)", "random": "random"},
        rounds=50,
        trials=100,
        env_kwargs={"pmf": pmf},
    )
    regret = {run.label: run.regret[:, -1].mean() for run in results.finished}
    assert regret["ppo"] < 0.7 * regret["random"]
    assert regret["greedy"] < 0.7 * regret["random"]


@pytest.mark.parametrize("parameters", ["", "(greedy=True)"])
def test_a_trained_agent_keeps_the_contract_for_any_number_of_arms(model, parameters):
    check_agent(f"{model}{parameters}", rounds=20)


def test_results_do_not_depend_on_batches_or_workers(model):
    def regret(**kwargs):
        agents = [str(model), f"{model}(greedy=True)"]
        results = evaluate("CMAB-MovieLens-v0", agents, rounds=30, trials=3, **kwargs)
        return np.stack([run.regret for run in results.finished])

    expected = regret()
    assert np.array_equal(expected, regret(batch_size=1))
    assert np.array_equal(expected, regret(batch_size=2, timeout=240))  # in a worker


def test_the_same_seed_gives_the_same_agent_and_keeps_the_users_random_state(model, tmp_path):
    import torch

    before = np.random.get_state(legacy=False)["state"]["key"].tobytes(), torch.get_rng_state()
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train("a2c", "bernoulli", tmp_path / f"{name}.zip", 3000, **{**SHORT, "seed": seed})
    assert weights(tmp_path / "a.zip") == weights(tmp_path / "b.zip")
    assert weights(tmp_path / "a.zip") != weights(tmp_path / "c.zip")
    assert np.random.get_state(legacy=False)["state"]["key"].tobytes() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


def test_the_file_describes_the_training(model):
    with zipfile.ZipFile(model) as archive:
        assert sorted(archive.namelist()) == ["cmab_gym.json", "policy.pth"]
        description = json.loads(archive.read("cmab_gym.json"))
    assert description["algorithm"] == "ppo"
    assert description["trained_on"] == "bernoulli"
    assert (description["n_arms"], description["horizon"], description["seed"]) == (3, 50, 3)
    assert description["steps"] >= 60_000
    assert description["versions"]["cmab-gym"] == cmab_gym.__version__
    assert {"torch", "stable-baselines3", "numpy", "gymnasium", "python"} <= set(
        description["versions"]
    )
    assert make_agent(str(model)).description == description


def test_the_command_trains_an_agent_that_can_be_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train_it = "train ppo --on bernoulli --arms 3 --steps 9000 --horizon 20 --out models/p.zip"
    assert main(train_it.split()) == 0
    printed = capsys.readouterr()
    assert "16,384 rounds in" in printed.out
    assert "written to models/p.zip" in printed.out
    assert "16384/16384 rounds" in printed.err  # the progress bar
    run = "run CMAB-Tabular-v0 --agents ts models/p.zip --rounds 20 --trials 2"
    assert main(run.split()) == 0
    assert "models/p.zip" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ppo --on movies --out m.zip", "--on 'movies': expected one of: genre, bernoulli"),
        ("pop --on genre --out m.zip", "unknown algorithm 'pop': did you mean 'ppo'"),
        ("ppo --on genre --out m.pt", "--out 'm.pt': expected a file name that ends in .zip"),
        ("ppo --on genre --arms 3 --out m.zip", "--arms 3 with --on 'genre': expected 18"),
        ("ppo --on genre --steps 0 --out m.zip", "--steps 0: expected an integer of at least 1"),
    ],
)
def test_wrong_arguments_are_refused_before_a_file_is_written(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments.split()]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_keyword_argument_is_refused():
    with pytest.raises(ValueError, match="unknown setting 'n_step' of PPO: did you mean 'n_steps'"):
        train("ppo", "bernoulli", "m.zip", n_step=3)


def test_an_interrupted_training_is_saved_under_another_name(tmp_path):
    left = [5000]

    def interrupt(steps):
        left[0] -= steps
        if left[0] < 0:
            raise KeyboardInterrupt

    (tmp_path / "m.zip").write_text("trained to the end")
    with pytest.raises(KeyboardInterrupt, match=r"after .* rounds is in .*m-interrupted\.zip"):
        train("a2c", "bernoulli", tmp_path / "m.zip", 9000, **SHORT, progress=interrupt)
    assert (tmp_path / "m.zip").read_text() == "trained to the end"
    agent = make_agent(str(tmp_path / "m-interrupted.zip"))
    assert agent.description["interrupted"]
    assert 5000 <= agent.description["steps"] < 9000


class RunsCode:
    def __reduce__(self):
        return (pytest.fail, ("the file ran code",))


def test_wrong_files_are_refused(model, tmp_path):
    import torch

    with pytest.raises(FileNotFoundError, match=r"none.zip is not a file: expected one that"):
        make_agent(str(tmp_path / "none.zip"))
    (tmp_path / "text.zip").write_text("not a zip")
    with pytest.raises(ValueError, match="expected an agent that `cmab-gym train` or"):
        make_agent(str(tmp_path / "text.zip"))
    later = changed(model, tmp_path / "later.zip", cmab_gym_json='{"format": 99}')
    with pytest.raises(ValueError, match="has the format 99: expected 1"):
        make_agent(str(later))
    broken = changed(model, tmp_path / "broken.zip", policy_pth=weights(model)[:-100])
    with pytest.raises(ValueError, match="expected usable weights"):
        make_agent(str(broken))
    state = torch.load(io.BytesIO(weights(model)), weights_only=True)
    next(value for key, value in state.items() if "actor" in key).view(-1)[0] = np.nan
    strange = changed(model, tmp_path / "strange.zip", policy_pth=_saved(torch, state))
    with pytest.raises(ValueError, match=r"some are not finite.*expected usable weights"):
        make_agent(str(strange))
    for weights_with_code in (pickle.dumps(RunsCode()), _saved(torch, RunsCode())):
        dangerous = changed(model, tmp_path / "dangerous.zip", policy_pth=weights_with_code)
        with pytest.raises(ValueError, match="expected usable weights"):
            make_agent(str(dangerous))
    with pytest.raises(ValueError, match=r"TrainedAgent: .*'greed'; its parameters are"):
        make_agent(f"{model}(greed=True)")


def _saved(torch, thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()
