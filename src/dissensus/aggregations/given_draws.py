"""Draws that come from elsewhere, such as the output of another sampler, evaluated like those of an aggregation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dissensus.aggregations.base import Aggregation
from dissensus.core.checks import check_fields
from dissensus.core.errors import DissensusError, listing
from dissensus.draws import Plausibilities
from dissensus.study.study import Study


@dataclass(frozen=True)
class GivenDraws(Aggregation):
    """Evaluate draws of plausibilities that somebody else inferred, by any posterior.

    Parameters
    ----------
    plausibilities
        The draws, by name of the case; see :meth:`Plausibilities.from_draws`.
    name
        What to call them, where several are compared.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_rankings([[[["a"]]], [[["b"]]]], ["a", "b"], case_names=["x", "y"])
    >>> drawn = ds.Plausibilities.from_draws(
    ...     [[[0.9, 0.1], [0.6, 0.4]], [[0.2, 0.8], [0.7, 0.3]]], conditions=["a", "b"], case_names=["x", "y"])
    >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=[drawn], metrics=["top-k-accuracy:1"])
    >>> result.to_frame()["run"][0], result.to_frame()["mean"][0]
    ('given-draws', 0.75)
    """

    meaning = "Draws that were made elsewhere and are evaluated as they are."
    kept_apart = ("plausibilities",)
    needs_whole = "its draws were made elsewhere, of all cases at once"

    plausibilities: Plausibilities = field(repr=False)
    name: str = ""

    @property
    def id(self) -> str:  # type: ignore[override]  # draws cannot be made from an id, so none is registered
        """The same for all of them; their names tell them apart."""
        return "given-draws"

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return f"draws made elsewhere{f' ({self.name})' if self.name else ''}"

    def __post_init__(self) -> None:
        if not isinstance(self.plausibilities, Plausibilities):
            raise DissensusError(
                "these are not draws of plausibilities",
                expected="Plausibilities",
                got=type(self.plausibilities).__name__,
                advice="make them with Plausibilities.from_draws(array, conditions=..., case_names=...)",
            )
        check_fields(self)

    def _opinions(self, study: Study) -> Study:
        return study

    def _prepare(self, opinions: Study, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        own = set(self.plausibilities.case_names)
        missing = [name for name in opinions.case_names if name not in own]
        if missing:
            raise DissensusError(
                "some cases have no draws",
                expected=f"draws of each of {opinions.n_cases} cases",
                got=f"{len(missing)} without: {listing(missing)}",
                advice="select the others: annotations.select([...])",
            )
        return self.plausibilities.select(list(opinions.case_names))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.plausibilities, self.name)
