"""A family of environments: one hook that makes a `BanditModel` of keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from cmab_gym import checks
from cmab_gym.models.base import BanditModel

COMMON = ("horizon", "step_info", "draws", "render_mode")  # arguments of every family
HORIZON = 5000  # rounds of an episode by default


def build_model(env_class: Any, env_kwargs: Mapping[str, Any]) -> BanditModel:
    """Call the hook `build_model` of an environment class.

    Raises:
        ValueError: the hook has no parameter of that name, or refuses a value.
    """
    known = list(inspect.signature(env_class.build_model).parameters)
    for name in env_kwargs:
        if name not in known:
            family = env_class.__name__.removesuffix("Env").removesuffix("Vector")
            names = [*known, *COMMON]
            message = checks.unknown("keyword argument", name, names, where=f"of {family}")
            raise ValueError(message)
    model: BanditModel = env_class.build_model(**env_kwargs)
    return model


def with_defaults(env_class: Any, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keyword arguments of a family, including the defaults of those not given."""
    parameters = inspect.signature(env_class.build_model).parameters.values()
    return {each.name: env_kwargs.get(each.name, each.default) for each in parameters}
