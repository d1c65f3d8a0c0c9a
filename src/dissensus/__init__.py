"""Dissensus: evaluate models when the experts disagree.

What most people need is here; the rest is in ``dissensus.metrics``, ``dissensus.aggregations``,
``dissensus.agreement``, ``dissensus.certainty``, ``dissensus.simulate`` and ``dissensus.plugins``. All other modules
are internal. Names are imported on first use, so that ``import dissensus`` stays light; the stub beside this file is
the list of them.
"""

from importlib import import_module as _import_module

import lazy_loader as _lazy_loader

_listed, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)

_NAMESPACES = ("agreement", "aggregations", "certainty", "metrics", "plugins")

# Names of version 0.2 that are called otherwise now; others moved into a namespace as they are.
_RENAMED = {
    "Annotations": "Study",
    "Checklists": "Study",
    "Ratings": "Study",
    "examine_annotations": "examine",
    "load_calibration": "Calibration.load",
    "load_evaluation": "load",
    "read_annotations": "read",
    "read_checklists": "read",
    "read_ratings": "read",
    "write_annotations": "write",
    **{f"simulate_{kind}": f"simulate.{kind}" for kind in ("binary", "checklists", "ratings", "study")},
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dissensus")
    if name in __all__:
        return _listed(name)
    moved = _RENAMED.get(name)
    if moved is None and not name.startswith("_"):
        homes = (home for home in _NAMESPACES if hasattr(_import_module(f"dissensus.{home}"), name))
        moved = next((f"{home}.{name}" for home in homes), None)
    now = "" if moved is None else f"; since version 0.3 it is dissensus.{moved}"
    raise AttributeError(f"module 'dissensus' has no attribute {name!r}{now}")
