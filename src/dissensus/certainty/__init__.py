"""Certainty: how far the annotations of a case settle its answer; the stub beside is the list of names."""

import lazy_loader as _lazy_loader

__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
