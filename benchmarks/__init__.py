"""Rankwright beside its peers, on the same data in the same run, as ratios: ``python -m benchmarks NAME``."""
