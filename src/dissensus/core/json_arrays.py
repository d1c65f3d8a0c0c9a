"""Plain values as arrays of bytes, so that names and numbers go into one file of arrays without a pickle."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt


def array_of_json(value: object) -> npt.NDArray[np.uint8]:
    """Write plain values as the bytes of JSON.

    >>> array_of_json({"a": 1}).dtype
    dtype('uint8')
    """
    return np.frombuffer(json.dumps(value).encode("ascii"), dtype=np.uint8)


def json_of_array(array: npt.NDArray[np.uint8]) -> Any:
    """Read what :func:`array_of_json` wrote.

    >>> json_of_array(array_of_json(["Eczema", None, 0.1]))
    ['Eczema', None, 0.1]
    """
    return json.loads(np.asarray(array, dtype=np.uint8).tobytes().decode("ascii"))
