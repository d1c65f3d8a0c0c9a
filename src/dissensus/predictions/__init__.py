"""What the models said: scores, rankings or sets, aligned to cases and conditions by name."""
