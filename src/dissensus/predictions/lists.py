"""What a model said: for each case, a list of conditions and how good each is; matched to a study by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dissensus.core import checks
from dissensus.core.arrays import Forwarded, IntArray
from dissensus.core.checks import check_length, checked, with_checked_methods
from dissensus.core.errors import DissensusError, DissensusWarning, known_name, listing
from dissensus.core.names import Cases, case_positions, check_names
from dissensus.core.ragged import begins_run, frozen, offsets_from_lengths, row_of_each, take_rows
from dissensus.core.receipt import Note, Received, shortened, spaced, tied_in_words
from dissensus.core.screen import counted, repr_html
from dissensus.study.builders import condition_names, nested_mentions, numbered_names, numeric_array, unknown_condition
from dissensus.study.diagnosis import percent, span
from dissensus.study.question import ANSWERS, PAIR

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    from dissensus.core.arrays import BoolArray, FloatArray

# What the numbers of a prediction mean.
PredictionKind: TypeAlias = Literal["scores", "ranking", "set", "numbers"]

# What stands in the place of conditions where a model gives a number per case, and maybe how sure it is of it.
NUMBER, DEVIATION = "number", "sd"

# Names in the order of their codes; a number K stands for "0" to "K - 1".
Conditions: TypeAlias = "Sequence[str] | int | None"

NOT_SEEN = "leave out the cases that the model did not see"

# How many cases that one side lacks are kept by name.
EXAMPLES = 5

# How far the scores of a case may be from a sum of one: text with three decimals is not exact.
SUM_TOLERANCE = 1e-3


def common_kind(one: PredictionKind | None, other: PredictionKind | None) -> PredictionKind | None:
    """Return the kind of all predictions: numbers that are 0 and 1 in some shards only are scores, as they are at once.

    >>> common_kind("set", "scores"), common_kind(None, "ranking")
    ('scores', 'ranking')
    """
    kinds: list[PredictionKind] = sorted({kind for kind in (one, other) if kind is not None})
    if len(kinds) < 2 or kinds == ["scores", "set"]:
        return kinds[0] if kinds else None
    raise DissensusError(
        "the predictions of a model are of several kinds",
        expected="one kind for all cases",
        got=listing(kinds),
        advice="say which it is (--kind scores)",
    )


@with_checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Received):
    """Hold what one model said about the cases of a study.

    Each case has a list of entries, best first: a condition and its value. Larger is better, and a condition
    that is not listed has the value 0, whatever the kind: a score; for a ranking, the number of blocks from
    here to the end of the list (the last block has 1); for a set, 1. Every listed condition is better than
    those that are not, unless the predictions are ``complete``; a score of 0 is therefore not listed. Equal
    values are ties. Objects are immutable: arrays are read-only.

    Where annotators give ratings, a model gives a number per case: predictions of the kind ``"numbers"`` know no
    conditions, and the one entry of a case is the number; a second one, its standard deviation, is there if known.

    Build them with :meth:`from_scores`, :meth:`from_rankings`, :meth:`from_sets`, :meth:`from_numbers`,
    :meth:`from_long`, :meth:`from_wide` or :func:`read_predictions` rather than by hand.

    Attributes
    ----------
    name
        Name of the model.
    kind
        ``"scores"``, ``"ranking"``, ``"set"`` or ``"numbers"``.
    conditions
        Names of the K conditions, in the order of their codes; ``"number"`` and maybe ``"sd"`` for numbers.
    case_names
        One name per case, all different.
    offsets : (n_cases + 1,)
        The entries of case ``i`` are ``offsets[i]:offsets[i + 1]``.
    codes : (n_entries,)
        Code of the condition of each entry, ascending among ties.
    values : (n_entries,)
        Value of each entry, descending within a case.
    complete
        Whether every case lists a score for every condition, as a matrix does: scores may then be negative,
        and a condition that the model does not know cannot be added.

    Examples
    --------
    >>> Predictions.from_rankings([["Eczema", ["Psoriasis", "Tinea"]]], case_names=["c1"], name="A")
    Predictions of 'A': 1 ranking over 3 conditions
      conditions listed     3 of 3; 3 per case
      with a tie            100.0 % of cases
    """

    name: str
    kind: PredictionKind
    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    offsets: IntArray
    codes: IntArray
    values: FloatArray
    complete: bool = False

    def __post_init__(self) -> None:
        checks.check_fields(self)
        for name, dtype in (("offsets", np.int64), ("codes", np.int64), ("values", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        checks.check_choice("kind", self.kind, get_args(PredictionKind))
        check_names("case", self.case_names)
        check_names("condition", self.conditions)
        check_length("offset", len(self.offsets), self.n_cases + 1)
        check_length("code", len(self.codes), int(self.offsets[-1]))
        check_length("value", len(self.values), len(self.codes))
        if not np.isfinite(self.values).all():
            raise DissensusError("a value is not a finite number", where=f"model {self.name!r}")
        checks.check_codes(self.codes, self.n_conditions)
        if not in_order(self.case_of_entry, self.codes, self.values):
            raise DissensusError(
                "the entries of a case are not in order",
                expected="values descending, codes ascending among equal values, every condition once",
                advice="build predictions with Predictions.from_scores and its siblings",
            )
        if self.kind == "numbers" and (self.conditions not in ((NUMBER,), (NUMBER, DEVIATION)) or not self.complete):
            raise DissensusError("numbers are not scores of conditions", advice="build them with from_numbers")
        if self.complete and (self.entries_per_case != self.n_conditions).any():
            raise DissensusError("complete predictions must list every condition on every case")

    # Builders -----------------------------------------------------------------------------------------

    @staticmethod
    @checked
    def from_scores(
        scores: ArrayLike,
        conditions: Conditions = None,
        *,
        case_names: Sequence[str] | None = None,
        name: str = "model",
        findings: bool = False,
    ) -> Predictions:
        """Build from a matrix of scores, shape (n_cases, K): probabilities, logits, others; higher is better.

        Parameters
        ----------
        conditions
            Names of the columns; by default "0" to "K - 1".
        case_names
            Names of the rows; by default "0", "1" and so on.
        findings
            Whether every column is a question of its own (:class:`Study`): all scores of a case may be 0 then.

        Examples
        --------
        >>> said = Predictions.from_scores([[0.2, 0.7, 0.1]], ["Eczema", "Psoriasis", "Tinea"])
        >>> said.codes, said.values
        (array([1, 0, 2]), array([0.7, 0.2, 0.1]))
        """
        return from_matrix(scores, PredictionOptions(name, conditions, case_names, findings=findings))

    @staticmethod
    @checked
    def from_rankings(
        rankings: Sequence[Sequence[Any]],
        conditions: Conditions = None,
        *,
        case_names: Sequence[str] | None = None,
        name: str = "model",
    ) -> Predictions:
        """Build from nested lists: case > block > condition, where a bare condition is a block of one.

        Conditions that a case does not list are tied below all that it does.

        Parameters
        ----------
        rankings
            Conditions as names, or as codes from 0 (then ``conditions`` is required).
        conditions
            Names of all conditions in the order of their codes; by default the listed names in alphabetical
            order.

        Examples
        --------
        >>> said = Predictions.from_rankings([["Eczema", ["Psoriasis", "Tinea"]], ["Tinea"]])
        >>> said.to_lists()
        [[['Eczema'], ['Psoriasis', 'Tinea']], [['Tinea']]]
        """
        return from_lists("ranking", rankings, PredictionOptions(name, conditions, case_names))

    @staticmethod
    @checked
    def from_sets(
        sets: Sequence[Any] | BoolArray | IntArray | FloatArray,
        conditions: Conditions = None,
        *,
        case_names: Sequence[str] | None = None,
        name: str = "model",
    ) -> Predictions:
        """Build from one set of conditions per case; sets may be of any size, and empty.

        Parameters
        ----------
        sets
            A list of lists (or sets) of names or codes, or a matrix of shape (n_cases, K): an array of 0 and
            1, or nested lists of ``True`` and ``False``.

        Examples
        --------
        >>> Predictions.from_sets([["Tinea", "Eczema"], []]).to_lists()
        [[['Eczema', 'Tinea']], []]
        >>> Predictions.from_sets([[True, False, True]], ["Eczema", "Psoriasis", "Tinea"]).to_lists()
        [[['Eczema', 'Tinea']]]
        """
        return from_lists("set", sets, PredictionOptions(name, conditions, case_names))

    @staticmethod
    @checked
    def from_long(
        frame: IntoDataFrame,
        conditions: Sequence[str] | None = None,
        *,
        case: str | None = None,
        condition: str | None = None,
        score: str | None = None,
        rank: str | None = None,
        kind: PredictionKind | None = None,
        name: str = "model",
        findings: bool = False,
    ) -> Predictions:
        """Build from a table with one row per listed condition (pandas, polars or arrow).

        Parameters
        ----------
        frame
            Columns are found by their usual names (``case``, ``condition``, and ``score`` *or* ``rank``; also
            ``case_id``, ``label``, ``probability`` and the like), or as given below.
        conditions
            Names of all conditions, in order; by default the names found, in alphabetical order.
        score, rank
            Score: higher is better, a condition without a row has 0. Rank: 1 is best, only the order matters,
            a condition without a row is below all others. Equal values are a tie.
        kind
            What to make of the rows: ``"scores"`` or ``"ranking"`` where both columns exist, ``"set"`` where
            the rows of a case are a set; a row without a condition then gives a case with an empty set.
        findings
            As in :meth:`from_scores`; rows without a score are a set.

        Examples
        --------
        >>> import polars as pl
        >>> said = Predictions.from_long(pl.DataFrame({
        ...     "case": ["c1", "c1"], "condition": ["Eczema", "Tinea"], "score": [0.2, 0.7]}))
        >>> said.to_lists()
        [[['Tinea'], ['Eczema']]]
        """
        from dissensus.predictions.reader import from_long

        columns = {"case": case, "condition": condition, "score": score, "rank": rank}
        return from_long(frame, PredictionOptions(name, conditions, columns=columns, kind=kind, findings=findings))

    @staticmethod
    @checked
    def from_wide(
        frame: IntoDataFrame,
        conditions: Sequence[str] | None = None,
        *,
        case: str | None = None,
        kind: PredictionKind | None = None,
        name: str = "model",
        findings: bool = False,
    ) -> Predictions:
        """Build from a table with one row per case and one column per condition (pandas, polars or arrow).

        Parameters
        ----------
        conditions
            The names that columns may have, or whose codes they are; the order is that of the columns.
        case
            The column with the names of the cases, if it goes by an unusual name.
        kind
            ``"scores"`` or ``"set"``; by default a table of integers 0 and 1 holds sets, any other scores.
        findings
            As in :meth:`from_scores`.

        Examples
        --------
        >>> import polars as pl
        >>> said = Predictions.from_wide(pl.DataFrame({"case": ["c1"], "Eczema": [0.2], "Tinea": [0.7]}))
        >>> said.to_lists()
        [[['Tinea'], ['Eczema']]]
        """
        from dissensus.predictions.reader import from_wide

        own = {"case": case}
        return from_wide(frame, PredictionOptions(name, conditions, columns=own, kind=kind, findings=findings))

    @staticmethod
    @checked
    def from_numbers(
        numbers: ArrayLike,
        deviations: ArrayLike | None = None,
        *,
        case_names: Sequence[str] | None = None,
        name: str = "model",
    ) -> Predictions:
        """Build from one number per case, for studies in which annotators give ratings.

        Parameters
        ----------
        numbers
            One finite number per case.
        deviations
            How sure the model is: the standard deviation of a normal distribution around each number, if it is known.
        case_names
            Names of the cases; by default "0", "1" and so on.

        Examples
        --------
        >>> said = Predictions.from_numbers([2.5, 4.0], case_names=["x", "y"])
        >>> said.kind, said.numbers
        ('numbers', array([2.5, 4. ]))
        """
        given, form = [numbers] if deviations is None else [numbers, deviations], "a list with one number per case"
        columns = [numeric_array(values, "numbers", form, "(cases,)") for values in given]
        check_length(DEVIATION, len(columns[-1]), len(columns[0]))
        names = (NUMBER, DEVIATION)[: len(given)]
        return from_matrix(np.stack(columns, axis=1), PredictionOptions(name, names, case_names, kind="numbers"))

    # Quantities ---------------------------------------------------------------------------------------

    @property
    def numbers(self) -> FloatArray:
        """The number of each case, shape (n_cases,); only where the kind is ``"numbers"``."""
        return self._column(NUMBER)

    @property
    def deviations(self) -> FloatArray | None:
        """How sure the model is of each number, shape (n_cases,); nothing if it does not say."""
        return self._column(DEVIATION) if DEVIATION in self.conditions else None

    def _column(self, name: str) -> FloatArray:
        if self.kind != "numbers":
            advice = "build them with Predictions.from_numbers"
            raise DissensusError(f"model {self.name!r} gives {self.kind}, not numbers", advice=advice)
        return self.to_scores()[:, self.conditions.index(name)]

    n_cases = Forwarded[int]("case_names", "Number of cases.", len)
    n_conditions = Forwarded[int]("conditions", "Number of conditions, K.", len)
    n_entries = Forwarded[int]("codes", "Number of listed conditions over all cases.", len)
    entries_per_case = Forwarded[IntArray]("offsets", "Number of listed conditions, (n_cases,).", np.diff)
    case_of_entry = Forwarded[IntArray]("offsets", "Position of the case of each entry, (n_entries,).", row_of_each)

    @property
    def has_tie(self) -> BoolArray:
        """Whether two listed conditions of a case have the same value, shape (n_cases,)."""
        case = self.case_of_entry
        equal = (self.values[1:] == self.values[:-1]) & (case[1:] == case[:-1])
        return np.asarray(np.bincount(case[1:][equal], minlength=self.n_cases) > 0)

    def __len__(self) -> int:
        return self.n_cases

    # Acts ---------------------------------------------------------------------------------------------

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.case_names)}

    def select(self, cases: Cases) -> Predictions:
        """Keep some cases, in the order given: names, positions, a slice or a mask.

        Examples
        --------
        >>> said = Predictions.from_sets([["a"], ["b"]], case_names=["x", "y"])
        >>> said.select(["y"]).to_lists()
        [[['b']]]
        """
        rows = case_positions(cases, self._positions)
        if np.array_equal(rows, np.arange(self.n_cases)):
            return self
        return repeated(self, rows, [self.case_names[row] for row in rows.tolist()]).with_receipt(self.receipt)

    @checked
    def align(
        self,
        case_names: Sequence[str] | None = None,
        conditions: Sequence[str] | None = None,
        *,
        allow_missing: bool = False,
    ) -> Predictions:
        """Put cases and conditions into the order of a study, matched by name.

        Parameters
        ----------
        case_names, conditions
            The names of the study; by default those of the predictions.
        allow_missing
            Keep the cases that both have, in the order given, rather than insist on the same cases.

        Raises
        ------
        DissensusError
            If a case is missing on either side, if the study does not know a condition that the model lists,
            or if some conditions of the study have no score and others have a negative one.

        Notes
        -----
        Conditions of the study that have no score are below all that have one; :meth:`notes` counts them, and a warning
        tells of them where scores were complete before.

        Examples
        --------
        >>> said = Predictions.from_scores([[0.2, 0.8], [0.6, 0.4]], ["a", "b"], case_names=["x", "y"])
        >>> said.align(["y", "x"], ["b", "a"]).to_scores()
        array([[0.4, 0.6],
               [0.8, 0.2]])
        """
        found, _ = aligned(self, case_names, conditions, allow_missing=allow_missing)
        if self.complete and not found.complete:
            warnings.warn(f"model {self.name!r}: {coverage(found)[0]}", DissensusWarning, stacklevel=3)
        return found

    def rename(self, name: str) -> Predictions:
        """Give the model another name.

        Examples
        --------
        >>> Predictions.from_sets([["a"]]).rename("A").name
        'A'
        """
        return replace(self, name=name).with_receipt(self.receipt)

    def to_scores(self) -> FloatArray:
        """Write out as a dense matrix, shape (n_cases, K), in which a condition that is not listed has 0.

        Examples
        --------
        >>> Predictions.from_sets([["a"], ["b", "c"]]).to_scores()
        array([[1., 0., 0.],
               [0., 1., 1.]])
        """
        scores = np.zeros((self.n_cases, self.n_conditions))
        scores[self.case_of_entry, self.codes] = self.values
        return scores

    def to_frame(self) -> pl.DataFrame:
        """Return what is listed as a table: case, condition and value, best first.

        Examples
        --------
        >>> Predictions.from_scores([[0.2, 0.8]], ["a", "b"], case_names=["c1"]).to_frame().rows()
        [('c1', 'b', 0.8), ('c1', 'a', 0.2)]
        """
        import polars as pl

        names = {"case": (self.case_names, self.case_of_entry), "condition": (self.conditions, self.codes)}
        columns = {role: pl.Series(known, dtype=pl.String).gather(codes) for role, (known, codes) in names.items()}
        return pl.DataFrame({**columns, "value": self.values})

    def to_lists(self) -> list[list[list[str]]]:
        """Write out as nested lists of names, best first: case > block of ties > condition.

        Examples
        --------
        >>> Predictions.from_scores([[0.2, 0.4, 0.4]], ["a", "b", "c"]).to_lists()
        [[['b', 'c'], ['a']]]
        """
        lists: list[list[list[str]]] = [[] for _ in self.case_names]
        last: list[float | None] = [None] * self.n_cases
        entries = zip(self.case_of_entry.tolist(), self.codes.tolist(), self.values.tolist(), strict=True)
        for case, code, value in entries:
            if value != last[case]:
                lists[case].append([])
            lists[case][-1].append(self.conditions[code])
            last[case] = value
        return lists

    def words(self, case: int, most: int = 3) -> str:
        """Write what the model said first about one case in words.

        Examples
        --------
        >>> said = Predictions.from_scores([[0.62, 0.2, 0.1, 0.08]], ["Melanoma", "Nevus", "Acne", "Wart"])
        >>> said.words(0)
        'Melanoma 0.62, Nevus 0.2, Acne 0.1'
        >>> Predictions.from_rankings([["Melanoma", ["Acne", "Nevus"]]]).words(0)
        'Melanoma, then Acne and Nevus tied'
        """
        checks.check_position("case", case, self.n_cases)
        entries = slice(int(self.offsets[case]), int(self.offsets[case + 1]))
        listed = [self.conditions[code] for code in self.codes[entries]]
        if self.kind == "scores":
            scored = zip(listed[:most], self.values[entries][:most], strict=True)
            return ", ".join(f"{name} {value:.3g}" for name, value in scored) or "no condition"
        if self.kind == "set":
            return f"{{{', '.join(listed)}}}"
        if self.kind == "numbers":
            sure = "" if self.deviations is None else f" (sd {self.deviations[case]:.3g})"
            return f"{self.numbers[case]:.3g}{sure}"
        return tied_in_words(self.select([case]).to_lists()[0])

    def examples(self, most: int = 3) -> tuple[str, ...]:
        """Write what the model said about a few cases in words: the first, the middle and the last it lists any for.

        Examples
        --------
        >>> Predictions.from_sets([["a", "b"], [], ["c"]], case_names=["x", "y", "z"]).examples()
        ('on case x: {a, b}', 'on case z: {c}')
        """
        chosen = spaced(np.flatnonzero(self.entries_per_case), most)
        return tuple(shortened(f"on case {self.case_names[case]}: {self.words(case)}") for case in chosen)

    def notes(self) -> tuple[Note, ...]:
        """Tell what deserves a look: ties, sums other than one, negative scores, empty lists.

        Examples
        --------
        >>> for note in Predictions.from_scores([[0.4, 0.4]], ["a", "b"]).notes():
        ...     print(note)
        cases with the same score for every condition: 1, kept, all are tied (for example '0')
        cases whose scores do not sum to 1: 1, kept as scores, not probabilities (for example '0')
        """
        return check_predictions(self)

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        n_cases, n_conditions = self.n_cases, self.n_conditions
        cases, lines = counted(n_cases, "case"), {}
        if self.kind == "numbers":
            said = f"numbers on {cases}"
            if n_cases:
                numbers = self.numbers
                lines["lowest to highest"] = f"{numbers.min():g} to {numbers.max():g}; mean {numbers.mean():.3g}"
            if n_cases and self.deviations is not None:
                lines["standard deviation"] = f"{self.deviations.min():g} to {self.deviations.max():g}"
        else:
            said = f"scores on {cases}" if self.kind == "scores" else counted(n_cases, self.kind)
            said = f"{said} over {counted(n_conditions, 'condition')}"
            n_listed = n_conditions - int(_unlisted(self).sum())
            lines["conditions listed"] = f"{n_listed} of {n_conditions}; {span(self.entries_per_case)} per case"
            if self.kind != "set":
                ties = percent(int(self.has_tie.sum()), n_cases)
                lines["with a tie"] = f"{ties} of cases" if n_cases else ties
            empty = int((self.entries_per_case == 0).sum())
            if empty:
                lines["empty"] = f"{percent(empty, n_cases)} of cases"
        told = [f"  {label:<22}{text}" for label, text in lines.items()]
        return "\n".join([f"Predictions of {self.name!r}: {said}", *told])


def in_order(case: IntArray, codes: IntArray, values: FloatArray) -> bool:
    """Tell whether entries ascend by case, then descend by value, then ascend strictly by code."""
    same_case = case[1:] == case[:-1]
    same_value = values[1:] == values[:-1]
    better = (values[1:] < values[:-1]) | (same_value & (codes[1:] > codes[:-1]))
    return bool(((case[1:] > case[:-1]) | (same_case & better)).all())


# Building ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictionOptions:
    """What is said about predictions beyond their content; see :func:`read_predictions`."""

    name: str = "model"
    conditions: Conditions = None
    cases: Sequence[str] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    kind: PredictionKind | None = None
    alpha_index: int | None = None
    positive: str | None = None
    findings: bool = False
    binary: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the conditions, where they are known."""
        return None if self.conditions is None else condition_names([], self.conditions)


class Subject(NamedTuple):
    """Whose predictions, about which cases and conditions; they are built from values of all conditions, or of some.

    What is not listed has the score 0, which all conditions of a case may have only if they are ``findings``.
    """

    name: str
    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    findings: bool = False

    def place(self, case: int, code: int | None = None) -> str:
        """Say where a value stands: its row, its case and its condition."""
        condition = "" if code is None else f", condition {self.conditions[code]!r}"
        return f"row {case + 1}, case {self.case_names[case]!r}{condition}"

    def with_all(self, matrix: FloatArray, kind: PredictionKind = "scores") -> Predictions:
        """Build from a value for every case and condition, shape (n_cases, K)."""
        wrong = np.argwhere(~np.isfinite(matrix))
        if len(wrong):
            row, column = map(int, wrong[0])
            are_scores = kind == "scores"
            raise DissensusError(
                "a score is not a finite number" if are_scores else f"a {self.conditions[column]} is not finite",
                expected=f"a number for every case{' and condition' * are_scores}",
                got=f"{matrix[row, column]}; {len(wrong)} such in all",
                where=self.place(row, column if are_scores else None),
                advice="" if are_scores else NOT_SEEN,
            )
        if kind == "scores":
            self._refuse_zeros(np.asarray(~matrix.any(axis=1)))
        order = np.argsort(-matrix, axis=1, kind="stable")
        offsets = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        values = np.take_along_axis(matrix, order, axis=1).ravel()
        return Predictions(self.name, kind, *self[1:3], offsets, order.ravel(), values, complete=True)

    def with_some(self, kind: PredictionKind, case: IntArray, codes: IntArray, values: FloatArray) -> Predictions:
        """Build from listed conditions in any order: on which case, which one, how good; ranks become counts of blocks.

        Scores may be negative only where all conditions have one.
        """
        n_conditions, lengths = len(self.conditions), np.bincount(case, minlength=len(self.case_names))
        keys = np.sort(case * n_conditions + codes)
        twice = keys[1:][~begins_run(keys)[1:]]
        if len(twice):
            row, code = divmod(int(twice[0]), n_conditions)
            raise DissensusError(
                f"condition {self.conditions[code]!r} is listed twice on one case",
                expected="every condition at most once per case",
                got=f"{len(twice)} repeated",
                where=f"case {self.case_names[row]!r}",
            )
        if kind == "scores" and (values < 0).any():
            if (lengths < n_conditions).any():
                negative = int((values < 0).argmax())
                raise DissensusError(
                    "a score is negative although some conditions have none",
                    expected=f"scores of zero or more, or a score for all {n_conditions} conditions on every case",
                    got=str(values[negative]),
                    where=self.place(int(case[negative]), int(codes[negative])),
                    advice="what has no score counts as 0: give probabilities, or the logits of all conditions",
                )
            matrix = np.empty((len(lengths), n_conditions))
            matrix[case, codes] = values
            return self.with_all(matrix)
        if kind == "scores":
            case, codes, values = case[values != 0], codes[values != 0], values[values != 0]
            lengths = np.bincount(case, minlength=len(lengths))
            self._refuse_zeros(lengths == 0)
        if not in_order(case, codes, values):
            import polars as pl

            by = {"case": case, "minus_value": 0.0 - values, "code": codes}
            order = pl.DataFrame(by).select(pl.arg_sort_by(*by)).to_series().to_numpy()
            case, codes, values = case[order], codes[order], values[order]
        if kind == "ranking":  # count the blocks from that of each condition to the last of its case
            block = np.cumsum(begins_run(case, values))
            last = np.zeros(len(lengths), dtype=np.int64)
            last[case] = block
            values = (last[case] - block + 1).astype(np.float64)
        return Predictions(self.name, kind, *self[1:3], offsets_from_lengths(lengths), codes, values)

    def _refuse_zeros(self, empty: BoolArray) -> None:
        if empty.any() and not self.findings:
            cases = np.flatnonzero(empty)
            raise DissensusError(
                "all scores of a case are zero",
                expected="at least one score that is not zero for every case",
                got=f"{len(cases)} of {len(empty)} cases: {listing(self.case_names[case] for case in cases)}",
                where=self.place(int(cases[0])),
                advice=NOT_SEEN,
            )


# Matrices ---------------------------------------------------------------------------------------------


def from_matrix(values: ArrayLike, options: PredictionOptions) -> Predictions:
    """Build scores, sets of 0 and 1, or numbers; see the methods of :class:`Predictions`."""
    what = {"set": "sets", "numbers": "numbers"}.get(str(options.kind), "scores")
    if hasattr(values, "columns"):
        raise DissensusError(
            f"{what} must be a matrix without names",
            got="a data frame, whose columns could be in another order",
            advice="use Predictions.from_wide, which goes by the names of the columns",
        )
    matrix = numeric_array(values, what)
    n_cases, n_conditions = matrix.shape
    columns = options.names or condition_names([], n_conditions)
    rows = tuple(map(str, options.cases)) if options.cases is not None else numbered_names(None, n_cases)
    if (len(rows), len(columns)) != matrix.shape:
        turned = (len(columns), len(rows)) == matrix.shape
        raise DissensusError(
            "the matrix does not fit the names",
            expected=f"{len(rows)} rows (cases) and {len(columns)} columns (conditions)",
            got=f"{n_cases} rows and {n_conditions} columns",
            advice="transpose the matrix" if turned else "give one case per row and one condition per column",
        )
    subject = Subject(options.name, columns, rows, options.findings)
    fits = {"sets": (matrix == 0) | (matrix == 1), "numbers": (matrix >= 0) | (np.arange(n_conditions) == 0)}
    wrong = np.argwhere(~fits.get(what, np.ones((1, 1), dtype=np.bool_)))
    if len(wrong):
        problem = "a matrix of sets must hold 0 and 1 only" if what == "sets" else "an sd is negative"
        raise DissensusError(problem, got=f"{matrix[tuple(wrong[0])]:g}", where=subject.place(*map(int, wrong[0])))
    if what == "sets":
        case, codes = np.nonzero(matrix)
        return subject.with_some("set", case, codes, np.ones(len(codes)))
    return subject.with_all(matrix.astype(np.float64), options.kind or "scores")


# Nested lists -----------------------------------------------------------------------------------------


def from_lists(kind: PredictionKind, lists: Any, options: PredictionOptions) -> Predictions:
    """Flatten case > block > condition, or the members of one set per case; sets may be a matrix, too.

    See :meth:`Predictions.from_rankings` and :meth:`Predictions.from_sets`.
    """
    if kind == "set" and isinstance(lists, np.ndarray):
        return from_matrix(lists, replace(options, kind=kind))
    cases = [_items(one, kind) for one in lists]
    members = next(filter(None, cases), []) if kind == "set" else []
    if any(isinstance(member, bool | np.bool_) for member in members):
        return from_matrix(lists, replace(options, kind=kind))
    blocks = [[one] for one in cases]
    if kind == "ranking":
        single = (str, Integral, np.bool_, float, type(None))
        blocks = [[[item] if isinstance(item, single) else _items(item, "block") for item in one] for one in cases]
    sets = [one if kind == "ranking" or any(one) else [] for one in blocks]  # an empty set has no block
    names, panel, case, block, codes = nested_mentions(
        [[one] for one in sets], options.conditions, case_names=options.cases
    )
    values = -block.astype(np.float64) if kind == "ranking" else np.ones(len(codes))
    return Subject(options.name, names, panel.case_names).with_some(kind, case, codes, values)


def _items(value: Any, what: str) -> list[Any]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Sequence | set | frozenset | np.ndarray):
        expected = "case > condition or block of tied conditions"
        raise DissensusError(f"a {what} must be a list", expected=expected, got=f"{value!r:.60}")
    return list(value)


# What deserves a look ---------------------------------------------------------------------------------


def check_predictions(predictions: Predictions, *, findings: bool = False) -> tuple[Note, ...]:
    """Look for what is allowed but may be a mistake; scores of findings need not add up to anything.

    Examples
    --------
    >>> for note in check_predictions(Predictions.from_scores([[2.0, -1.0], [0.5, 0.5]])):
    ...     print(note)
    cases with the same score for every condition: 1, kept, all are tied (for example '1')
    cases with negative scores: 1, kept; logits need a softmax to be probabilities (for example '0')
    """
    kind, names = predictions.kind, predictions.case_names
    if kind == "numbers" or (findings and kind != "scores"):
        return ()
    if findings:
        outside = predictions.case_of_entry[(predictions.values < 0) | (predictions.values > 1)]
        has_outside = np.bincount(outside, minlength=len(names)) > 0
        action = "kept; the scores of all findings are taken as scores, not as probabilities"
        unlisted = predictions.conditions, _unlisted(predictions), "taken as absent on every case"
        notes = [_note("cases with scores below 0 or above 1", names, has_outside, action)]
        notes.append(_note("findings without a score above 0", *unlisted))
    elif kind == "scores":
        notes = _notes_on_scores(predictions)
    else:
        sizes, tied = predictions.entries_per_case, {"ranking": "kept, all conditions are tied"}.get(kind, "kept")
        every = (sizes == predictions.n_conditions) & (kind == "set")
        notes = [_note(f"empty {kind}s", names, sizes == 0, tied)]
        notes.append(_note("sets of all conditions", names, every, "kept"))
    return tuple(note for note in notes if note.count)


def _note(what: str, names: tuple[str, ...], chosen: BoolArray, action: str) -> Note:
    return Note(what, int(chosen.sum()), action, tuple(names[place] for place in np.flatnonzero(chosen)[:3]))


def _unlisted(predictions: Predictions) -> BoolArray:
    return np.asarray(np.bincount(predictions.codes, minlength=predictions.n_conditions) == 0)


def _notes_on_scores(predictions: Predictions) -> list[Note]:
    n_conditions, complete, names = predictions.n_conditions, predictions.complete, predictions.case_names
    highest, lowest = predictions.values[predictions.offsets[:-1]], predictions.values[predictions.offsets[1:] - 1]
    constant = (predictions.entries_per_case == n_conditions) & (highest == lowest) & (n_conditions > 1)
    logits = "kept; logits need a softmax to be probabilities"
    notes = [_note("cases with the same score for every condition", names, constant, "kept, all are tied")]
    notes.append(_note("cases with negative scores", names, lowest < 0, logits))
    if not (lowest < 0).any():
        sums = np.bincount(predictions.case_of_entry, weights=predictions.values, minlength=predictions.n_cases)
        below = (sums < 1 - SUM_TOLERANCE) & complete  # a short list may leave some of the mass out
        off = below | (sums > 1 + SUM_TOLERANCE)
        notes.append(_note("cases whose scores do not sum to 1", names, off, "kept as scores, not probabilities"))
    if not complete:
        notes += coverage(predictions)
    elif bool(np.isin(predictions.values, (0, 1)).all()):
        action = "kept as scores; say kind='set' if the ones are a set"
        notes.append(Note("cases with scores of 0 and 1 only", predictions.n_cases, action))
    return notes


def coverage(predictions: Predictions) -> list[Note]:
    """Tell of conditions without a score; 0 counts as none, as both are last."""
    unlisted = _unlisted(predictions)
    everywhere = f"of {predictions.n_conditions}, taken as not predicted: below all that have one"
    partly = predictions.entries_per_case < (~unlisted).sum()
    some, there = "cases on which some of the other conditions have no score", "taken as not predicted there"
    notes = [_note("conditions without a score", predictions.conditions, unlisted, everywhere)]
    return [*notes, _note(some, predictions.case_names, partly, f"{there}: below all that have one")]


# In the order of a study --------------------------------------------------------------------------------


def aligned(
    predictions: Predictions, case_names: Sequence[str] | None, conditions: Sequence[str] | None, *, allow_missing: bool
) -> tuple[Predictions, tuple[Note, ...]]:
    """Match cases and conditions by name, and note what only one side had; see :meth:`Predictions.align`."""
    notes: tuple[Note, ...] = ()
    names = predictions.conditions if conditions is None else tuple(conditions)
    if predictions.kind == "numbers" and names and names != predictions.conditions:
        raise DissensusError(
            "the model gives a number per case, but the study asks for conditions",
            expected=f"scores, rankings or sets over {listing(names)}",
            got="numbers",
            where=f"model {predictions.name!r}",
            advice="numbers are for studies of ratings; for a probability of one of two conditions read the file with "
            "kind='scores' and positive=... (--kind scores --positive NAME)",
        )
    if predictions.kind != "numbers" and names != predictions.conditions:
        predictions = with_conditions(predictions, names)
    if case_names is not None and tuple(case_names) != predictions.case_names:
        check_names("case", tuple(case_names))
        match = Match.of(case_names, predictions.case_names)
        notes = match.notes(predictions.name, allow_missing=allow_missing)
        own = set(predictions.case_names)
        predictions = predictions.select([name for name in case_names if name in own])
    return predictions, notes


def repeated(model: Predictions, rows: IntArray, names: Sequence[str]) -> Predictions:
    """Give the predictions at some positions new names; a position may occur several times.

    >>> said = Predictions.from_rankings([["a"], ["b"]], ["a", "b"])
    >>> repeated(said, np.array([1, 1]), ["x", "y"]).to_lists()
    [[['b']], [['b']]]
    """
    offsets, entries = take_rows(model.offsets, rows)
    codes, values = model.codes[entries], model.values[entries]
    return replace(model, case_names=tuple(names), offsets=offsets, codes=codes, values=values)


def aligned_models(
    predictions: Mapping[str, ArrayLike | Predictions],
    case_names: tuple[str, ...],
    conditions: tuple[str, ...],
    *,
    allow_missing: bool = False,
    question: str = "",
) -> dict[str, Predictions]:
    """Return what every model says of the cases and conditions of a study; bare scores are in their order already.

    Files, frames, dictionaries and labelled vectors are read, as :func:`read_predictions` does. A vector holds a number
    per case, a rating, or, where the question is ``"binary"``, the probability of the positive answer; or a label.

    Examples
    --------
    >>> models = aligned_models({"A": [[0.7, 0.3], [0.2, 0.8]]}, ("x", "y"), ("cat", "dog"))
    >>> models["A"].case_names, models["A"].conditions
    (('x', 'y'), ('cat', 'dog'))
    """
    from dissensus.predictions.reader import read_predictions

    models = {}
    how: dict[str, Any] = {"findings": question == "findings", "binary": question == "binary"}
    for name, given in predictions.items():
        said: Any = given
        if hasattr(said, "to_frame") and hasattr(said, "dtype"):  # a series, whose index may name the cases
            index = [str(label) for label in getattr(said, "index", ())]
            said = dict(zip(index, said.tolist(), strict=True)) if {*index} & {*case_names} else np.asarray(said)
        is_vector = isinstance(said, np.ndarray | list | tuple) and np.ndim(np.asarray(said, dtype=object)) == 1
        if is_vector and (how["binary"] or all(isinstance(label, str) for label in said)):
            check_length("score", len(said), len(case_names))
            said = dict(zip(case_names, np.asarray(said).tolist(), strict=True))
        if isinstance(said, Predictions):
            pass
        elif is_vector and not conditions:
            said = Predictions.from_numbers(said, case_names=case_names, name=str(name))
        elif isinstance(said, str | PathLike | Mapping) or hasattr(said, "columns"):
            how |= {"conditions": conditions or None, "cases": case_names, "allow_missing": allow_missing}
            said = read_predictions(said, name=str(name), **how)
        else:
            names, findings = conditions or None, how["findings"]
            said = Predictions.from_scores(said, names, case_names=case_names, name=str(name), findings=findings)
        models[str(name)] = said.align(case_names, conditions or None, allow_missing=allow_missing)
    check_names("model", tuple(models))
    return models


# Cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """How the cases of a model fit those of the study.

    Attributes
    ----------
    n_study, n_model, n_common
        Cases of the study, of the model, and of both.
    absent, extra
        The first few names of cases without a prediction, and of predictions on cases outside the study.

    Examples
    --------
    >>> print(*Match(3, 2, 2, absent=("c",)).notes("A", allow_missing=True))
    cases without a prediction: 1, skipped (for example 'c')
    """

    n_study: int = 0
    n_model: int = 0
    n_common: int = 0
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @staticmethod
    def of(study: Sequence[str], model: Sequence[str]) -> Match:
        """Compare the names of cases, all different on each side."""
        known, listed = set(study), set(model)
        absent = tuple(name for name in study if name not in listed)
        extra = tuple(name for name in model if name not in known)
        return Match(len(study), len(model), len(known & listed), absent[:EXAMPLES], extra[:EXAMPLES])

    def __add__(self, other: Match) -> Match:
        sums = (getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        cut: Any = (one[:EXAMPLES] if isinstance(one, tuple) else one for one in sums)
        return Match(*cut)

    def notes(self, name: str, *, allow_missing: bool) -> tuple[Note, ...]:
        """Note what only one side has, or refuse it."""
        where = f"model {name!r}"
        if not self.n_common:
            absent = listing(self.absent, most=3, total=self.n_study)
            raise DissensusError(
                "no case of the study is among the predictions",
                expected=f"the names of {self.n_study} cases, such as {absent}",
                got=f"{self.n_model} cases, such as {listing(self.extra, most=3, total=self.n_model)}",
                where=where,
                advice="use the same names for the cases of the study and of the predictions",
            )
        found = {
            "cases without a prediction": (self.n_study - self.n_common, self.absent),
            "predictions on cases outside the study": (self.n_model - self.n_common, self.extra),
        }
        notes = [Note(what, count, "skipped", names, lost=True) for what, (count, names) in found.items() if count]
        if notes and not allow_missing:
            told = "; ".join(f"{note.count} {note.found} ({listing(note.examples, most=3)})" for note in notes)
            raise DissensusError(
                "the cases of the study and of the predictions differ",
                expected=f"a prediction for each of {self.n_study} cases, and no others",
                got=f"{self.n_model} cases: {told}",
                where=where,
                advice="correct the names, or evaluate the common cases only (allow_missing=True, --allow-missing)",
            )
        return tuple(notes)


# Conditions -------------------------------------------------------------------------------------------


def with_conditions(predictions: Predictions, conditions: tuple[str, ...]) -> Predictions:
    """Put the vocabulary into another order, or add conditions that the model never lists."""
    check_names("condition", conditions)
    known = {name: code for code, name in enumerate(conditions)}
    recoded = np.array([known.get(name, -1) for name in predictions.conditions], dtype=np.int64)
    listed = np.bincount(predictions.codes, minlength=len(recoded)) > 0
    unknown = [predictions.conditions[code] for code in np.flatnonzero(listed & (recoded < 0))]
    if unknown:
        where = f"model {predictions.name!r}; {len(unknown)} unknown: {listing(unknown)}"
        raise unknown_condition(unknown[0], conditions, where)
    # zeros alone were refused before, or are findings
    subject = Subject(predictions.name, conditions, predictions.case_names, findings=True)
    case, codes, values = predictions.case_of_entry, recoded[predictions.codes], predictions.values
    if predictions.complete and len(conditions) == predictions.n_conditions:
        matrix = np.empty((predictions.n_cases, len(conditions)))
        matrix[case, codes] = values
        return subject.with_all(matrix).with_receipt(predictions.receipt)
    return subject.with_some(predictions.kind, case, codes, values).with_receipt(predictions.receipt)


# Findings ---------------------------------------------------------------------------------------------


def predictions_of_finding(model: Predictions, finding: str, case_names: Sequence[str]) -> Predictions:
    """Return what a model says about one finding, for the study that :meth:`Study.of_finding` gives.

    Scores from 0 to 1 are probabilities: what is not present is absent. Where a model has any score outside, for
    whichever finding, its scores are taken as they are, and absent has the opposite. A set is a decision: a finding
    outside it is absent.

    Examples
    --------
    >>> model = Predictions.from_scores([[0.9, 0.0], [0.2, 0.7]], ["AF", "ST"], case_names=["x", "y"], findings=True)
    >>> said = predictions_of_finding(model, "AF", ["x", "y"])
    >>> said.case_names, said.conditions, said.to_scores().tolist()
    (('x / AF', 'y / AF'), ('absent', 'present'), [[0.09999999999999998, 0.9], [0.8, 0.2]])
    """
    if model.kind == "ranking":
        raise DissensusError(
            "an order of findings does not say which are present",
            expected="a score per finding, or the set of those that are present",
            where=f"model {model.name!r}",
        )
    of_cases = model.select(list(case_names))
    listed = of_cases.codes == model.conditions.index(known_name("finding", finding, model.conditions))
    scores = np.zeros(of_cases.n_cases)
    scores[of_cases.case_of_entry[listed]] = of_cases.values[listed]
    subject = Subject(model.name, ANSWERS, tuple(f"{case}{PAIR}{finding}" for case in case_names), findings=True)
    if model.kind == "set":
        answers = (scores > 0).astype(np.int64)  # the answer comes first, and a decision is what comes first
        return subject.with_some("ranking", np.arange(len(scores)), answers, np.ones(len(scores)))
    are_probabilities = bool(((model.values >= 0) & (model.values <= 1)).all())
    absent = 1 - scores if are_probabilities else -scores
    return subject.with_all(np.column_stack([absent, scores]))
