import pytest
from hostile import HOSTILE


@pytest.fixture
def hostile_results():
    """Results of one agent for each hostile name, on an environment with such arguments."""
    import numpy as np  # loads NumPy: see pytest_configure

    from cmab_gym.evaluation import AgentRun, Results
    from cmab_gym.evaluation.results.arm_pulls import ArmPulls

    one, labels = np.ones((2, 3)), [label.replace("\ud800", "") for label in HOSTILE if label]
    counts, pulls = one.astype(int), ArmPulls.of(*np.ones((2, 2, len(labels)), int))
    runs = tuple(
        AgentRun(label, one * i, counts, 1, reward=one, competitive=counts, pulls=pulls)
        for i, label in enumerate(labels)
    )
    manifest = {"env_id": "x", "env_kwargs": {"a": labels}, "reward_unit": "$\n$"}
    return Results((1, 2, 3), runs, {**manifest, "arm_names": labels})
