"""Studies larger than memory: files in, piece by piece, a directory of results out."""
