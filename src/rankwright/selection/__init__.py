"""Choosing: features one by one, parameters by held-out queries."""
