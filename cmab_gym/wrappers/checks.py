"""Checks of the environment that a wrapper is put on."""

from __future__ import annotations

from typing import Any, TypeVar

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import NO_JOINT_OUTCOME
from cmab_gym.envs.vector import BanditVectorEnv

Bandit = TypeVar("Bandit", BanditEnv, BanditVectorEnv)
_EXPECTED: dict[type, str] = {
    BanditEnv: (
        'a bandit of this package, such as gym.make("CMAB-Tabular-v0"); for a native vector '
        "environment, use the wrapper of the same name in cmab_gym.wrappers.vector"
    ),
    BanditVectorEnv: (
        'a native vector environment of this package, such as gym.make_vec("CMAB-Tabular-v0", '
        'num_envs=4); with vectorization_mode "sync" or "async", pass make_vec the wrapper of the '
        "same name in cmab_gym.wrappers"
    ),
}


def bandit_inside(wrapper: object, env: Any, kind: type[Bandit]) -> Bandit:
    """Return the bandit environment inside all wrappers of env.

    Args:
        wrapper: the wrapper that asks, for the error message.
        env: an environment, wrapped or not.
        kind: `BanditEnv` or `BanditVectorEnv`.

    Raises:
        ValueError: the environment inside is not of that kind.
    """
    bandit = getattr(env, "unwrapped", None)
    if not isinstance(bandit, kind):
        raise ValueError(f"{type(wrapper).__name__}({env}): expected {_EXPECTED[kind]}")
    return bandit


def require_joint_outcomes(wrapper: object, bandit: BanditEnv | BanditVectorEnv) -> None:
    """Refuse a bandit whose rounds have no joint outcome.

    Raises:
        ValueError: its rewards are drawn by pulls.
    """
    if bandit.draws != "rounds":
        raise ValueError(f"{type(wrapper).__name__}: {NO_JOINT_OUTCOME}")
