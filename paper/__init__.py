"""The paper: its experiments, trials of what the package promises, and the published data that both need."""
