"""The experiments of the papers, run again: our figures beside the published ones."""
