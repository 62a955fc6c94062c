"""How the optimisation problems are solved."""
