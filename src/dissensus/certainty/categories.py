"""Groups of conditions, such as levels of risk: what they are, and what the draws say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dissensus.core.arrays import NEAR, FloatArray, IntArray, Path, Value
from dissensus.core.checks import check_fields, check_length, checked, with_checked_methods
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import check_names
from dissensus.core.ragged import frozen, product
from dissensus.core.screen import repr_html
from dissensus.draws import Batch, Plausibilities
from dissensus.metrics.base import Drawn, expected_worth

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.files import Source

Via: TypeAlias = Literal["top", "mass"]
VIA: tuple[Via, ...] = ("top", "mass")

# Levels of categories that are called so.
RISKS = {"low": 0.0, "medium": 1.0, "high": 2.0}

# Is told the number of cases of each batch done.
Advance: TypeAlias = Callable[[int], None] | None


@with_checked_methods
@dataclass(frozen=True, eq=False)
class Categories(Value):
    """Put every condition into one category.

    Build them with :meth:`from_mapping`, :meth:`from_labels` or :meth:`from_file`.

    Attributes
    ----------
    conditions
        Names of the K conditions.
    names
        Names of the categories.
    codes : (K,)
        Category of each condition, as a position in ``names``.
    levels
        A number per category where they are ordered, for example the risk; empty where they are not.

    Examples
    --------
    >>> risks = Categories.from_mapping({"acne": "low", "eczema": "low", "melanoma": "high"})
    >>> risks
    Categories: low 2, high 1 of 3 conditions; levels 0, 2
    """

    conditions: tuple[str, ...]
    names: tuple[str, ...]
    codes: IntArray
    levels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "codes", frozen(self.codes))
        object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
        check_names("condition", self.conditions)
        check_names("category", self.names)
        check_length("category code", len(self.codes), len(self.conditions))
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(self.names):
            raise DissensusError("a category code has no name", expected=f"0 to {len(self.names) - 1}")
        if self.levels:
            check_length("level", len(self.levels), len(self.names))
            if not np.isfinite(self.levels).all():
                raise DissensusError("levels of categories must be finite", got=str(self.levels))

    @staticmethod
    @checked
    def from_mapping(
        categories: Mapping[str, str],
        conditions: Sequence[str] | None = None,
        *,
        levels: Mapping[str, float] | None = None,
    ) -> Categories:
        """Build categories from the category of each condition, by name.

        Parameters
        ----------
        categories
            Condition to category.
        conditions
            All conditions, in order; by default those of the mapping. Each must have a category.
        levels
            Category to number. By default the numbers themselves if all categories are numbers, 0, 1 and 2 if they
            are called low, medium and high, otherwise none.

        Examples
        --------
        >>> found = Categories.from_mapping({"acne": "benign", "melanoma": "malign"}, levels={"benign": 0, "malign": 5})
        >>> found.names, found.levels
        (('benign', 'malign'), (0.0, 5.0))
        """
        known = tuple(categories) if conditions is None else tuple(conditions)
        for name in categories:
            known_name("condition", name, known)
        missing = [name for name in known if name not in categories]
        if missing:
            got = f"{len(missing)} conditions without one: {listing(missing)}"
            raise DissensusError("every condition needs a category", got=got)
        return Categories.from_labels([categories[name] for name in known], known, levels=levels)

    @staticmethod
    @checked
    def from_labels(
        labels: Sequence[str], conditions: Sequence[str], *, levels: Mapping[str, float] | None = None
    ) -> Categories:
        """Build categories from one category per condition, in the order of conditions.

        >>> Categories.from_labels(["b", "a", "b"], ["x", "y", "z"]).codes
        array([0, 1, 0])
        """
        if len(labels) != len(conditions):
            expected = f"{len(conditions)}, one per condition, in their order"
            raise DissensusError("the number of categories does not fit", expected=expected, got=str(len(labels)))
        texts = [str(label) for label in labels]
        numbers = _levels(dict.fromkeys(texts), levels)
        names = tuple(sorted(numbers, key=numbers.__getitem__) if numbers else dict.fromkeys(texts))
        position = {name: code for code, name in enumerate(names)}
        codes = np.array([position[text] for text in texts], dtype=np.int64)
        return Categories(tuple(conditions), names, codes, tuple(numbers[name] for name in names if numbers))

    @staticmethod
    @checked
    def from_file(path: Path, conditions: Sequence[str], *, levels: Mapping[str, float] | None = None) -> Categories:
        """Read categories: one per line in the order of conditions, or a table with columns condition and category.

        Tables end in ``.csv``, ``.tsv`` or ``.parquet``.

        Examples
        --------
        >>> import polars as pl, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = pl.DataFrame({"condition": ["acne", "melanoma"], "category": ["low", "high"]})
        ...     table.write_csv(f"{folder}/risks.csv")
        ...     Categories.from_file(f"{folder}/risks.csv", ["acne", "melanoma"])
        Categories: low 1, high 1 of 2 conditions; levels 0, 2
        """
        from dissensus.core.files import open_source

        return Categories.from_source(open_source(path), conditions, levels=levels)

    @staticmethod
    @checked
    def from_source(
        source: Source, conditions: Sequence[str], *, levels: Mapping[str, float] | None = None
    ) -> Categories:
        """Read categories from a file that is open already; see :meth:`from_file`."""
        import polars as pl

        try:
            if source.is_table:
                absent = [name for name in ("condition", "category") if name not in source.table.columns]
                if absent:
                    expected, got = "condition and category", listing(source.table.columns)
                    raise DissensusError(f"the table has no column {absent[0]!r}", expected=expected, got=got)
                rows = source.table.select(pl.col("condition", "category").cast(pl.String)).drop_nulls()
                check_names("condition", rows["condition"].to_list())
                return Categories.from_mapping(dict(rows.iter_rows()), conditions, levels=levels)
            if source.kind != "text":
                raise DissensusError("these are not categories", expected="text, CSV or Parquet", got=source.kind)
            lines = source.content.rstrip().splitlines()
            return Categories.from_labels([line.strip() for line in lines], conditions, levels=levels)
        except DissensusError as error:
            raise error.at(str(source.path)) from None

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self.names)

    def renamed(self, names: Mapping[str, str]) -> Categories:
        """Give categories other names.

        >>> numbered = Categories.from_labels(["0", "2"], ["acne", "melanoma"])
        >>> numbered.renamed({"0": "low", "2": "high"}).names
        ('low', 'high')
        """
        for name in names:
            known_name("category", name, self.names)
        return replace(self, names=tuple(names.get(name, name) for name in self.names))

    def aligned(self, conditions: Sequence[str]) -> Categories:
        """Put the conditions in another order, by name; they must be the same ones.

        Examples
        --------
        >>> risks = Categories.from_labels(["low", "high"], ["acne", "melanoma"])
        >>> risks.aligned(["melanoma", "acne"]).labels
        ('high', 'low')
        """
        if tuple(conditions) == self.conditions:
            return self
        if len(conditions) != len(self.conditions):
            expected, got = f"{len(conditions)} conditions", str(len(self.conditions))
            raise DissensusError("the categories are about other conditions", expected=expected, got=got)
        known = dict(zip(self.conditions, self.codes.tolist(), strict=True))
        codes = [known[known_name("condition", name, known, purpose="among the categories")] for name in conditions]
        return replace(self, conditions=tuple(conditions), codes=np.array(codes))

    @property
    def labels(self) -> tuple[str, ...]:
        """Name of the category of each condition."""
        return tuple(self.names[code] for code in self.codes)

    @cached_property
    def one_hot(self) -> FloatArray:
        """One where a condition belongs to a category, shape (K, n_categories)."""
        return np.asarray(np.eye(self.n_categories)[self.codes])

    @cached_property
    def sizes(self) -> FloatArray:
        """Number of conditions of each category, shape (n_categories,)."""
        return np.asarray(self.one_hot.sum(axis=0))

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {size:.0f}" for name, size in zip(self.names, self.sizes, strict=True))
        levels = f"; levels {', '.join(f'{level:g}' for level in self.levels)}" if self.levels else ""
        return f"Categories: {counts} of {len(self.conditions)} conditions{levels}"


def _levels(names: Iterable[str], given: Mapping[str, float] | None) -> Mapping[str, float]:
    """Return the level of each category, or nothing if there are no levels."""
    if given is not None:
        return {name: float(given[known_name("level of category", name, given)]) for name in names}
    if all(name.casefold() in RISKS for name in names):
        return {name: RISKS[name.casefold()] for name in names}
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return {}
    return numbers if np.isfinite(list(numbers.values())).all() else {}


def category_certainty(chances: FloatArray, n_chains: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Find the category that most draws of each case agree on.

    Parameters
    ----------
    chances : (n_categories, n_cases, n_draws)
        Probability that each category is that of each draw.
    n_chains
        Chains that the draws come from.

    Returns
    -------
    certainties, errors, winners : (n_cases,)
        Share of draws, its Monte Carlo standard error, and the category.
    """
    winners = chances.mean(axis=2).argmax(axis=0)
    return *share_of_draws(chances[winners, np.arange(chances.shape[1])], n_chains), winners


def share_of_draws(marks: FloatArray, n_chains: int) -> tuple[FloatArray, FloatArray]:
    """Average what is marked in draws (n_cases, n_draws); return the means and their Monte Carlo standard errors."""
    from dissensus.kernels.chains import standard_errors

    return marks.mean(axis=1), standard_errors(np.ascontiguousarray(marks), n_chains)


def order_chances(drawn: Drawn, categories: Categories, rank: int = 1) -> list[FloatArray]:
    """Return, for each category, the probability that it has the condition in one place of each order, (n_orders,)."""
    members, rest = shares_of(drawn.batch, categories)
    return [expected_worth(drawn, *pair, rank=rank) for pair in zip(members, rest, strict=True)]


def leading_chances(drawn: Drawn, categories: Categories) -> FloatArray:
    """Return the probability that each category has the most mass in a draw, (n_categories, n_cases, n_draws)."""
    masses = np.stack([drawn.expected(*pair) for pair in zip(*shares_of(drawn.batch, categories), strict=True)])
    is_best = masses >= masses.max(axis=0) - NEAR
    return np.asarray(is_best / is_best.sum(axis=0))


def shares_of(batch: Batch, categories: Categories) -> tuple[FloatArray, FloatArray]:
    """Return to which category each mentioned condition belongs, and which share of the others each one has.

    Returns
    -------
    (n_categories, sum of U), (n_categories, n_cases)
    """
    members = np.ascontiguousarray(categories.one_hot[batch.support].T)
    weights = np.ones(batch.n_conditions) if batch.rest_sums is None else np.diff(batch.rest_sums)
    totals = product(weights, categories.one_hot)
    return members, np.stack([batch.rest_average(*pair) for pair in zip(totals, members, strict=True)])


@checked
def expected_risk(plausibilities: Plausibilities, categories: Categories, *, advance: Advance = None) -> pl.DataFrame:
    """Average the levels of the conditions of each case by their plausibilities: mean and range over draws.

    To the mean, unmentioned conditions contribute their mean level, weighted by the rest mass: it is the mean over all
    ways in which that may be split. Least and greatest are those of the draws, split as they are
    (:meth:`Plausibilities.dense`).

    Parameters
    ----------
    plausibilities
        Draws of every case.
    categories
        Categories with levels.
    advance
        Is told the number of cases of each batch done.

    Returns
    -------
    polars.DataFrame
        A row per case: ``case``, ``mean``, ``min``, ``max``.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["acne"], ["melanoma"]]]], ["acne", "eczema", "melanoma"])
    >>> risks = Categories.from_labels(["low", "low", "high"], said.conditions)
    >>> expected_risk(InverseRank().sample(said), risks)["mean"].round(6).to_list()
    [0.666667]
    """
    import polars as pl

    if not categories.levels:
        expected, advice = "a number per category", "Categories.from_mapping(..., levels={'benign': 0, 'malignant': 1})"
        got, advice = listing(categories.names), f"give them: {advice}"
        raise DissensusError("these categories have no levels", expected=expected, got=got, advice=advice)
    aligned = categories.aligned(plausibilities.conditions)
    parts = plausibilities.map(lambda batch: risk_ranges(batch, aligned), advance=advance)
    columns = dict(zip(("mean", "min", "max"), np.concatenate([np.empty((3, 0)), *parts], axis=1), strict=True))
    return pl.DataFrame({"case": pl.Series(plausibilities.case_names, dtype=pl.String), **columns})


def risk_ranges(batch: Batch, categories: Categories) -> FloatArray:
    """Return mean, least and greatest risk over the draws of each case, shape (3, n_cases)."""
    members, rest = shares_of(batch, categories)
    levels = np.array(categories.levels)
    means = Drawn(batch, 0).expected(levels @ members, levels @ rest).mean(axis=1)
    of_all = levels[categories.codes]
    ends = [[sign * batch.greatest_worth(case, sign * of_all) for case in range(batch.n_cases)] for sign in (-1, 1)]
    return np.stack([means, *np.array(ends)])
