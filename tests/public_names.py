"""Everything public, by name: what is at the top of the package, and what its namespaces hold."""

from typing import Any

import dissensus as ds

NAMESPACES = ("agreement", "aggregations", "certainty", "metrics", "plugins", "simulate")

PUBLIC: dict[str, Any] = {name: getattr(ds, name) for name in ds.__all__ if name not in NAMESPACES}
PUBLIC |= {name: getattr(getattr(ds, home), name) for home in NAMESPACES[:-1] for name in getattr(ds, home).__all__}
PUBLIC |= {
    name if name[0].isupper() else f"simulate.{name}": getattr(ds.simulate, name) for name in ds.simulate.__all__
}
