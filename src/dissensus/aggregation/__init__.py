"""From opinions to plausibilities: one file per aggregation, each a spec that carries itself."""
