"""Collections to learn from: the public ones as they lie on disk, and synthetic ones with a known answer."""

from rankwright.datasets.letor import LetorFold, load_letor
from rankwright.datasets.streams import SyntheticStream, stream_queries
from rankwright.datasets.synthetic import SyntheticCollection, make_queries

__all__ = ["LetorFold", "SyntheticCollection", "SyntheticStream", "load_letor", "make_queries", "stream_queries"]
