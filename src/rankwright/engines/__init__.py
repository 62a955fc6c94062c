"""How a per-query function is run over all queries."""
