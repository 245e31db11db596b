"""Array types and the read-only arrays that the data classes keep."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]


def read_only(values: ArrayLike) -> FloatArray:
    """Copy values into a C-contiguous float64 array that cannot be written to."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array
