"""The floor that everything stands on: errors, names, checks, ragged arrays, files."""
