"""Names for the arrays that everything computes with, and for functions that are told how far something is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]  # numbers of features

Progress = Callable[[float, float], None]  # told what is done, and what there is in all
