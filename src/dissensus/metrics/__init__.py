"""Metrics: how a model is measured against draws of the plausibilities, or against labels.

The stub beside this file is the list of those that ship with Dissensus; they are imported on first use.
"""

import lazy_loader as _lazy_loader

_listed, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Find a metric of the list, or one of an installed package by the name of its class."""
    if name in __all__:
        return _listed(name)
    found = []
    if name[0].isupper():  # modules are no classes
        from dissensus.metrics.base import Metric

        found = [kind for kind in Metric.family.known().values() if kind.__name__ == name]
    if not found:
        raise AttributeError(f"module 'dissensus.metrics' has no attribute {name!r}")
    return found[0]
