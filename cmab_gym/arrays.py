"""Types of arrays, and read-only copies for the data classes."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
UInt64Array: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]


def read_only(values: ArrayLike) -> FloatArray:
    """Copy values into a C-contiguous float64 array that is read-only."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array
