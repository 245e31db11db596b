"""Agents that stable-baselines3 trained and saved itself."""

import base64
import io
import json
import pickle
import zipfile

import gymnasium as gym
import numpy as np
import pytest

from cmab_gym import evaluate, make_agent
from cmab_gym.cli import main
from cmab_gym.wrappers import FullInformation, HistoryObservation, PseudoRewardObservation

pytestmark = pytest.mark.rl

HORIZON = 30
PMF = [[[0.1, 0.2], [0.1, 0.05]], [[0.2, 0.1], [0.05, 0.2]]]  # 3 arms with rewards 0 and 1


def environment(observation="history"):
    env = gym.make("CMAB-Tabular-v0", pmf=PMF, horizon=HORIZON, draws="pulls")
    for part in observation.split("+"):
        if part == "history":
            env = HistoryObservation(env)
        elif part == "all rewards":
            env = FullInformation(gym.make("CMAB-Tabular-v0", pmf=PMF), observe=True)
        elif part != "nothing":
            env = PseudoRewardObservation(env, part)
    return env


PROBLEM = environment().unwrapped.problem.with_horizon(HORIZON)


def save(path, algorithm="A2C", observation="history", policy="MlpPolicy", **kwargs):
    """Save a model with random weights and no biases, so that it chooses by what it sees."""
    import stable_baselines3
    import torch

    cls = getattr(stable_baselines3, algorithm)
    model = cls(policy, environment(observation), device="cpu", **kwargs)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.policy.parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            weight.copy_(drawn - drawn.mean(dim=-1, keepdim=True))
    model.save(path)
    return model


def changed(path, change):
    """Apply a function to a model's JSON, and save it under the same name."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(files["data"])
    change(data)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "data": json.dumps(data)}.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("algorithm", "observation", "kwargs"),
    [
        ("PPO", "history", {"n_steps": 8, "batch_size": 8}),
        ("A2C", "history+bounds", {"policy_kwargs": {"net_arch": []}}),
        ("A2C", "bounds", {}),
        ("DQN", "history+phi", {"policy_kwargs": {"net_arch": []}}),
        ("DQN", "table", {"policy_kwargs": {"net_arch": [5, 4]}}),
        ("DQN", "nothing", {}),
    ],
)
def test_a_greedy_agent_pulls_the_arms_that_the_model_predicts(
    algorithm, observation, kwargs, tmp_path
):
    model = save(tmp_path / "model.zip", algorithm, observation, **kwargs)
    said = f", observation={observation!r}" if observation == "bounds" else ""
    agent = make_agent(f"{tmp_path / 'model.zip'}(greedy=True{said})")
    env = environment(observation)
    seen, _ = env.reset(seed=0)
    agent.reset(PROBLEM, 1, 0)
    chosen = set()
    for arm in np.random.default_rng(0).integers(3, size=HORIZON).tolist():
        predicted, _ = model.predict(np.asarray(seen), deterministic=True)
        assert agent.act() == [predicted]
        seen, reward, *_ = env.step(arm)
        agent.update(np.array([arm]), np.array([reward]))
        chosen.add(int(predicted))
    constant = observation in ("nothing", "table")
    assert constant or len(chosen) > 1


@pytest.mark.parametrize("activation", ["ReLU", "Tanh", "ELU", "SiLU"])
def test_a_network_has_the_activation_function_of_its_training(activation, tmp_path):
    import torch

    kwargs = {"activation_fn": getattr(torch.nn, activation), "net_arch": [8, 8]}
    model = save(tmp_path / "model.zip", policy_kwargs=kwargs)
    agent = make_agent(str(tmp_path / "model.zip"))
    trials = 3000
    agent.reset(PROBLEM, trials, 0)
    drawn = np.bincount(agent.act(), minlength=3)
    start = torch.from_numpy(environment().reset(seed=0)[0])[None]
    expected = trials * model.policy.get_distribution(start).distribution.probs.detach()[0].numpy()
    # Chi-squared with 2 degrees of freedom: above 13.8 with probability 0.001.
    assert ((drawn - expected) ** 2 / expected).sum() < 13.8


def test_dqn_explores_as_at_the_end_of_its_training(tmp_path):
    model = save(tmp_path / "model.zip", "DQN", "nothing")
    changed(tmp_path / "model.zip", lambda data: data.update(exploration_rate=0.3))
    best, _ = model.predict(np.int64(0), deterministic=True)
    agent = make_agent(str(tmp_path / "model.zip"))
    trials = 4000
    agent.reset(PROBLEM, trials, 0)
    others = (agent.act() != best).mean()  # 0.3 * 2 / 3 of the pulls
    assert abs(others - 0.2) < 3.3 * np.sqrt(0.2 * 0.8 / trials)  # fails with probability 0.001


def test_results_do_not_depend_on_batches(tmp_path):
    save(tmp_path / "model.zip", "DQN")

    def regret(**kwargs):
        env = {"env_kwargs": {"pmf": PMF}, "rounds": 20, "trials": 3}
        agents = [f"{tmp_path / 'model.zip'}(greedy={greedy})" for greedy in (True, False)]
        results = evaluate("CMAB-Tabular-v0", agents, **env, **kwargs)
        return np.stack([run.regret for run in results.finished])

    assert np.array_equal(regret(), regret(batch_size=1))


def test_the_command_runs_a_saved_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save("model.zip", "PPO", n_steps=8, batch_size=8)
    run = "run CMAB-Tabular-v0 --agents greedy model.zip --rounds 20 --trials 2 --set"
    assert main([*run.split(), f"pmf={PMF}"]) == 0
    assert "model.zip" in capsys.readouterr().out


class RunsCode:
    def __reduce__(self):
        return (pytest.fail, ("the file ran code",))


def test_pickles_in_the_file_are_not_loaded(tmp_path):
    import torch

    path = tmp_path / "model.zip"
    save(path, "A2C")

    def poison(data):
        code = base64.b64encode(pickle.dumps(RunsCode())).decode()
        entries = [value for value in data.values() if isinstance(value, dict)]
        assert sum(":serialized:" in entry for entry in entries) > 5
        for entry in entries:
            if ":serialized:" in entry:
                entry[":serialized:"] = code

    changed(path, poison)
    before = torch.get_rng_state()
    agent = make_agent(str(path))
    assert torch.equal(torch.get_rng_state(), before)  # no initial weights are drawn
    agent.reset(PROBLEM, 2, 0)
    agent.act()
    for content in (pickle.dumps(RunsCode()), _torch_saved(torch, RunsCode())):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "bad.zip", "w") as new:
            new.writestr("data", old.read("data"))
            new.writestr("policy.pth", content)
        with pytest.raises(ValueError, match=r"bad\.zip cannot be read .*expected PPO, A2C or DQN"):
            make_agent(str(tmp_path / "bad.zip"))


def _torch_saved(torch, thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("policy_class", {"__module__": "m" * 9999}),
        ("policy_kwargs", {"activation_fn": "a" * 9999}),
        ("action_space", {":type:": "s" * 9999}),
        ("observation_space", {":type:": "s" * 9999}),
    ],
)
def test_long_texts_of_a_file_are_shortened_in_errors(part, change, tmp_path):
    path = tmp_path / "model.zip"
    save(path)
    changed(path, lambda data: data[part].update(change))
    with pytest.raises(ValueError, match=r"model\.zip ") as refused:
        make_agent(str(path))
    assert len(str(refused.value)) < 1000


def test_weights_of_another_protocol_are_refused_without_a_warning(tmp_path):
    path = tmp_path / "model.zip"
    save(path)
    with zipfile.ZipFile(path) as archive:
        data = archive.read("data")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", data)
        archive.writestr("policy.pth", pickle.dumps(5, protocol=0))
    with pytest.raises(ValueError, match=r"model\.zip cannot be read"):
        make_agent(str(path))


def test_what_cannot_be_rebuilt_is_refused(tmp_path):
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy

    class Own(ActorCriticPolicy):
        pass

    path = tmp_path / "model.zip"
    save(path, policy=Own)
    with pytest.raises(ValueError, match=r"holds a policy of .*test_sb3_agent: expected PPO, A2C"):
        make_agent(str(path))
    save(path, policy_kwargs={"activation_fn": torch.nn.Softplus})
    with pytest.raises(ValueError, match=r"activation function .*Softplus'>: expected one of"):
        make_agent(str(path))
    save(path)
    changed(path, lambda data: data["action_space"].update({":type:": "<class 'spaces.Box'>"}))
    with pytest.raises(ValueError, match=r"actions in Box: expected Discrete"):
        make_agent(str(path))
    save(path)
    changed(path, lambda data: data["observation_space"].update({"_shape": [3, 64, 64]}))
    with pytest.raises(ValueError, match=r"observations in Box: expected a Box of one dimension"):
        make_agent(str(path))
    with pytest.raises(ValueError, match=r"unknown observation 'histori': did you mean 'history'"):
        make_agent(f"{path}(observation='histori')")


def test_a_model_of_another_problem_is_refused(tmp_path):
    path = tmp_path / "model.zip"
    save(path)
    with pytest.raises(
        ValueError, match=r"model\.zip plays 3 arms: expected 2, the number of arms"
    ):
        make_agent(str(path)).reset(gym.make("CMAB-Tabular-v0").unwrapped.problem, 1, 0)
    with pytest.raises(ValueError, match=r"trained on observations of 14 numbers: expected 3 for"):
        make_agent(f"{path}(observation='bounds')").reset(PROBLEM, 1, 0)
    with pytest.raises(ValueError, match=r"the horizon is unknown"):
        make_agent(str(path)).reset(environment().unwrapped.problem, 1, 0)
    make_agent(f"{path}(horizon=9)").reset(environment().unwrapped.problem, 1, 0)
    save(path, observation="all rewards")  # has the shape of the bounds
    with pytest.raises(ValueError, match=r"of 3 numbers, which may be 'bounds', or all rewards"):
        make_agent(str(path)).reset(PROBLEM, 1, 0)
