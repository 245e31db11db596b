"""The networks of trained agents."""

import numpy as np
import pytest

from cmab_gym.features import history_features

pytestmark = pytest.mark.rl


@pytest.fixture
def networks():
    import torch

    from cmab_gym.agents.rl.arm_networks import ArmScores, ArmSummary

    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ArmScores(8).double(), ArmSummary(8).double()


def history(rng, trials, n_arms):
    pulls = rng.integers(0, 20, (trials, n_arms))
    last = rng.integers(0, n_arms, trials)
    return pulls, rng.uniform(1, 5, (trials, n_arms)), last, rng.uniform(1, 5, trials)


def test_relabelling_the_arms_relabels_the_scores(networks):
    import torch

    from cmab_gym.agents.rl.arm_networks import scores_of

    rng = np.random.default_rng(1)
    scores, summary = networks
    pulls, means, last, reward = history(rng, 6, 5)
    order = rng.permutation(5)
    position = np.argsort(order)  # the new position of each arm
    features = history_features(pulls, means, last, reward, 30, 100, (1, 5))
    moved = history_features(
        pulls[:, order], means[:, order], position[last], reward, 30, 100, (1, 5)
    )
    expected = scores_of(scores, features)
    assert np.ptp(expected, axis=1).min() > 0.01  # the arms differ
    assert scores_of(scores, moved) == pytest.approx(expected[:, order], abs=1e-12)
    of_all = [summary(torch.from_numpy(each).double())[1] for each in (features, moved)]
    assert of_all[0].detach().numpy() == pytest.approx(of_all[1].detach().numpy(), abs=1e-12)


def test_scores_do_not_depend_on_the_batch_for_any_number_of_arms(networks):
    from cmab_gym.agents.rl.arm_networks import scores_of

    rng = np.random.default_rng(2)
    for n_arms in (2, 18, 50):
        features = history_features(*history(rng, 7, n_arms), 30, 100, (1, 5))
        together = scores_of(networks[0], features)
        assert together.shape == (7, n_arms)
        alone = np.concatenate([scores_of(networks[0], row[None]) for row in features])
        assert alone == pytest.approx(together, abs=1e-12)
