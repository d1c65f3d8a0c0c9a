"""Versions of the packages that numbers depend on."""

from __future__ import annotations

from importlib.metadata import version

VERSIONED = ("dissensus", "numpy", "numba", "polars", "scipy")


def present_versions() -> dict[str, str]:
    """Return the versions of the packages that numbers depend on.

    >>> sorted(present_versions())
    ['dissensus', 'numba', 'numpy', 'polars', 'scipy']
    """
    return {name: version(name) for name in VERSIONED}
