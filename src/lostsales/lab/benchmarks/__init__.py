"""Public benchmarks: their data, their protocols, and our figures beside the published ones."""
