"""Aggregations: what turns the opinions of annotators into plausibilities, and the priors they use.

The stub beside this file is the list of those that ship with Dissensus; they are imported on first use.
"""

import lazy_loader as _lazy_loader

_listed, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Find an aggregation of the list, or one of an installed package by the name of its class."""
    if name in __all__:
        return _listed(name)
    found = []
    if name[0].isupper():  # modules are no classes
        from dissensus.aggregations.base import Aggregation

        found = [kind for kind in Aggregation.family.known().values() if kind.__name__ == name]
    if not found:
        raise AttributeError(f"module 'dissensus.aggregations' has no attribute {name!r}")
    return found[0]
