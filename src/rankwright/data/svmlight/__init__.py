"""LETOR and SVMlight text, read and written at the speed of the disk."""

from rankwright.data.svmlight.reader import read_svmlight
from rankwright.data.svmlight.writer import write_svmlight

__all__ = ["read_svmlight", "write_svmlight"]
