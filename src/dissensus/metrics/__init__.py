"""From draws and predictions to numbers: one file per family of metrics, each a spec that carries itself."""
