"""What a metric, an aggregation, a format or a section of the report of your own is built from; see the stub beside."""

import lazy_loader as _lazy_loader

__getattr__, __dir__, __all__ = _lazy_loader.attach_stub("dissensus", __file__)
