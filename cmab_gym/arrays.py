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
    """Copy values into a C-contiguous float64 array that can never be written to."""
    return frozen(np.asarray(values, dtype=np.float64))


def frozen(array: AnyArray) -> AnyArray:
    """Copy an array into `bytes`, so that no flag can make it writeable."""
    return np.ndarray(array.shape, array.dtype, buffer=array.tobytes())
