"""Agreement: how far annotators say the same, and how good each of them is; the stub beside is the list of names."""

import lazy_loader as _lazy_loader

__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
