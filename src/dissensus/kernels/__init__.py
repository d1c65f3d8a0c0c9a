"""Compiled loops: arrays in, arrays out, no Python objects and no validation."""
