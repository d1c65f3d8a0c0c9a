"""What is evaluated: the cases of a study, or, of checklists, every finding of every case as a case of its own.

Every finding is a binary question with a posterior of its own: what is learned from all cases, such as a prior that
models inform, is learned finding by finding. Findings of one case belong to one group, so that they are resampled
together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dissensus.aggregations.case_prior import case_labels
from dissensus.core.ragged import join_offsets
from dissensus.core.receipt import shared_receipt
from dissensus.evaluation.sums import FINDING
from dissensus.predictions.alignment import predictions_of_finding
from dissensus.predictions.lists import Predictions
from dissensus.study.question import PAIR
from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class Questions:
    """Hold what is evaluated.

    Attributes
    ----------
    study, models
        Opinions and predictions, row by row.
    labels
        Labels of rows by column, pictures among them.
    parts
        Rows of which everything is learned together, by finding; one part without a name for a study of cases.
    """

    study: Study
    models: Mapping[str, Predictions]
    labels: Mapping[str, Mapping[str, str]]
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(
        study: Study, models: Mapping[str, Predictions], labels: Mapping[str, Mapping[str, str]] | None = None
    ) -> Questions:
        """Take cases as they are, or checklists finding by finding; ``labels`` are those of cases, by column."""
        given = labels or {}
        if study.kind != "checklists":
            return Questions(study, models, given, {"": study.case_names})
        alone = study.by_finding()
        said = {
            name: joined_predictions([predictions_of_finding(model, finding, study.case_names) for finding in alone])
            for name, model in models.items()
        }
        parts = {finding: own.case_names for finding, own in alone.items()}
        rows = [(f"{case}{PAIR}{finding}", case, finding) for finding in parts for case in study.case_names]
        columns = {column: {row: of[case] for row, case, _ in rows} for column, of in given.items()}
        return Questions(
            study.items(),
            {name: one.with_receipt(models[name].receipt) for name, one in said.items()},
            {FINDING: {row: finding for row, _, finding in rows}, **columns},
            parts,
        )

    @property
    def findings(self) -> dict[str, str]:
        """The finding that each row is about; empty for a study of cases."""
        return {name: finding for finding, names in self.parts.items() for name in names if finding}

    def of_part(self, names: tuple[str, ...]) -> tuple[Study, dict[str, Predictions]]:
        """Return the opinions and the predictions of one part."""
        if len(self.parts) == 1:
            return self.study, dict(self.models)
        rows = list(names)
        return self.study.select(rows), {name: model.select(rows) for name, model in self.models.items()}

    def select(self, rows: Collection[str]) -> Questions:
        """Keep some rows."""
        kept = set(rows)
        names = [name for name in self.study.case_names if name in kept]
        return Questions(
            self.study.select(names),
            {name: model.select(names) for name, model in self.models.items()},
            self.labels,
            {finding: tuple(name for name in own if name in kept) for finding, own in self.parts.items()},
        )

    @property
    def strata(self) -> dict[str, Mapping[str, str]]:
        """Labels of rows by column, without pictures."""
        return {column: labels for column, labels in self.labels.items() if column != IMAGES}

    @property
    def labels_by_case(self) -> dict[str, tuple[str, ...]]:
        """Labels of each row in all columns of strata."""
        names = self.study.case_names
        return case_labels(names, {column: [of[name] for name in names] for column, of in self.strata.items()})


# Name of the column of cases that holds pictures.
IMAGES = "image"


def cases_of_rows(rows: Iterable[str], findings: Collection[str]) -> tuple[str, ...]:
    """Name the cases that rows are about, each once; without findings rows are cases.

    >>> cases_of_rows(["x / AF", "x / ST", "y / AF"], ["AF", "ST"])
    ('x', 'y')
    """
    known = {f"{PAIR}{finding}" for finding in findings}
    if not known:
        return tuple(rows)
    cases = (next(row.removesuffix(ending) for ending in known if row.endswith(ending)) for row in rows)
    return tuple(dict.fromkeys(cases))


def joined_predictions(parts: list[Predictions]) -> Predictions:
    """Put the predictions of one model about different rows one after the other."""
    return replace(
        parts[0],
        case_names=tuple(name for part in parts for name in part.case_names),
        offsets=join_offsets([part.offsets for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        complete=all(part.complete for part in parts),
    ).with_receipt(shared_receipt(parts))
