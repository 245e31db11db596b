"""Checks of arguments; each error names the value, what was expected, and the remedy."""

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cmab_gym import arrays
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.text import quoted

LARGEST = 1e100  # size of a reward: sums over any number of rounds, and their squares, are finite

_LONGEST = 200  # characters of a wrong name that are shown


class TrialError(ValueError):
    """An error in one trial of a batch.

    Args:
        trial: position of the trial in the batch.
        message: what is wrong.
    """

    def __init__(self, trial: int, message: str) -> None:
        super().__init__(message)
        self.trial = trial


def whole_number(name: str, value: Any, at_least: int, remedy: str = "") -> int:
    """Return value as an int.

    Raises:
        ValueError: value is not an integer, or is below at_least.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if number < at_least or isinstance(value, bool):
        expected = f"expected an integer of at least {at_least}"
        raise ValueError(with_remedy(f"{name}={value!r}: {expected}", remedy))
    return number


def number_between(name: str, value: Any, low: float, high: float, remedy: str = "") -> float:
    """Return value as a float in [low, high].

    Raises:
        ValueError: value is not a number, is NaN, or is outside the interval.
    """
    number = _as_float(value)
    if not low <= number <= high:
        limits = f"a number from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
        raise ValueError(with_remedy(f"{name}={value!r}: expected {limits}", remedy))
    return number


def positive(name: str, value: Any, remedy: str = "") -> float:
    """Return value as a finite float above 0.

    Raises:
        ValueError: value is not a finite number above 0.
    """
    number = _as_float(value)
    if not 0 < number < math.inf:
        raise ValueError(with_remedy(f"{name}={value!r}: expected a number above 0", remedy))
    return number


def interval(name: str, value: Any) -> tuple[float, float]:
    """Return value as a pair (low, high) of finite floats with low <= high.

    Raises:
        ValueError: value is not such a pair.
    """
    try:
        low, high = map(_as_float, value)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -math.inf < low <= high < math.inf:
        raise ValueError(f"{name}={value!r}: expected a pair (low, high) of numbers, low <= high")
    return low, high


def finite(name: str, array: AnyArray, remedy: str = "") -> None:
    """Refuse NaN and infinite entries.

    Raises:
        ValueError: an entry is not finite; its position is named.
    """
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        message = f"{name}{list(position)} is {array[position]}: expected finite numbers"
        raise ValueError(with_remedy(message, remedy))


def moderate(name: str, array: AnyArray, remedy: str = "") -> None:
    """Refuse NaN, infinite and huge entries, whose sums or squares could overflow.

    Raises:
        ValueError: an entry is not finite, or its size is above 1e100; its position is named.
    """
    finite(name, array, remedy)
    if array.size and max(array.max(), -array.min()) > LARGEST:
        position = tuple(int(i) for i in np.argwhere(np.abs(array) > LARGEST)[0])
        message = f"{name}{list(position)} is {array[position]:g}: expected numbers of size"
        raise ValueError(with_remedy(f"{message} up to {LARGEST:g}", remedy or "scale them"))


def numbers(name: str, value: Any) -> FloatArray:
    """Return value as a float64 array.

    Raises:
        ValueError: value is not a table of numbers, or its rows differ in length.
    """
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name} of type {type(value).__name__}: expected a table of numbers ({error})"
        raise ValueError(message) from None


def read_only(name: str, value: Any) -> FloatArray:
    """Return a copy of value as a float64 array that can never be written to.

    Raises:
        ValueError: as for `numbers`.
    """
    return arrays.read_only(numbers(name, value))


def increasing(name: str, value: Any, at_least: int = 1) -> FloatArray:
    """Return value as a float64 array (n,) of increasing numbers.

    Raises:
        ValueError: value has fewer than `at_least` numbers, they do not increase, or one is not
            finite or huge.
    """
    array = numbers(name, value)
    if array.ndim != 1 or array.size < at_least or not (array[1:] > array[:-1]).all():
        count = "" if at_least == 1 else f"{at_least} or more "
        raise ValueError(f"{name}={value}: expected {count}increasing numbers, without repeats")
    moderate(name, array)
    return array


def arms_in_range(name: str, value: Any, n_trials: int, n_arms: int) -> IntArray:
    """Return value as an array of arms, int64 (n_trials,), each from 0 to n_arms - 1.

    Args:
        name: what gave the value, for messages.
        value: one arm for each trial.
        n_trials: B.
        n_arms: K.

    Raises:
        ValueError: the shape is wrong.
        TrialError: an arm is not an integer, or out of range.
    """
    arms = np.asarray(value)
    if arms.shape != (n_trials,):
        raise ValueError(
            f"{name} of shape {arms.shape}: expected ({n_trials},), one arm for each trial"
        )
    expected = f"expected integer arms from 0 to {n_arms - 1}"
    if arms.dtype.kind not in "iu":  # an integer beyond int64 makes an array of objects
        wrong = (i for i, arm in enumerate(arms.tolist()) if arm not in range(n_arms))
        trial = next(wrong, 0)
        raise TrialError(
            trial, f"{name}[{trial}] is {arms[trial]!r} of type {arms.dtype}: {expected}"
        )
    # As unsigned integers negative numbers are the largest: one pass finds both.
    if np.maximum.reduce(arms.astype(np.int64, copy=False).view(np.uint64)) >= n_arms:
        trial = int(np.flatnonzero((arms < 0) | (arms >= n_arms))[0])
        raise TrialError(trial, f"{name}[{trial}] is {arms[trial]}: {expected}")
    return arms.astype(np.int64, copy=False)


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return value if it is one of the known names.

    Raises:
        ValueError: it is not; the error suggests the nearest names and lists all.
    """
    names = list(known)
    if value not in names:
        raise ValueError(unknown(name, value, names))
    return str(value)


def unknown(
    kind: str,
    value: Any,
    known: Sequence[str],
    listed: Sequence[str] | None = None,
    where: str = "",
) -> str:
    """Return the message for an unknown name: see `expected_names`.

    Examples:
        >>> unknown("setting", "n_step", ["n_steps"], where="of PPO")
        "unknown setting 'n_step' of PPO: did you mean 'n_steps'? Expected one of: n_steps"
    """
    name = " ".join(filter(None, [kind, quoted(value, _LONGEST), where]))
    return f"unknown {name}: {expected_names(value, known, listed)}"


def expected_names(value: Any, known: Sequence[str], listed: Sequence[str] | None = None) -> str:
    """Return the part of a message that suggests the nearest names and lists the known ones.

    Args:
        value: what was given.
        known: all names, among which the nearest are found.
        listed: the names to list; None lists all.
    """
    near = nearest(value, known, 3)
    hint = f"did you mean {' or '.join(map(repr, near))}? Expected" if near else "expected"
    return f"{hint} one of: {', '.join(known if listed is None else listed)}"


def nearest(value: Any, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that look like what was given, the nearest first, whatever its case.

    Examples:
        >>> nearest("Round", ["rounds", "trials"])
        ['rounds']
    """
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(value)[:_LONGEST].lower(), lower, n=most)
    return [lower[name] for name in near]


def with_remedy(text: str, remedy: str) -> str:
    """Join what is wrong and the remedy, if any."""
    return f"{text}; {remedy}" if remedy else text


def _as_float(value: Any) -> float:
    """Return a number as a float; NaN for anything else, and for an integer above all floats."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    try:
        return float(value) if is_number and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan
