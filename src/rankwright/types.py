"""Names for the arrays that everything computes with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]  # numbers of features
