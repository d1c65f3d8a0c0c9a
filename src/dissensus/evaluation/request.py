"""What is asked for: questions and their defaults, and what is refused before anything is drawn.

Of checklists, every finding of every case is a question of its own, with a posterior of its own: what is learned from
all cases, such as a prior that models inform, is learned finding by finding. Findings of one case belong to one group,
so that they are resampled together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.case_prior import case_labels
from dissensus.aggregations.priors import check_trained_on
from dissensus.certainty.categories import Categories
from dissensus.core.checks import check_length, check_share
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import check_names
from dissensus.core.ragged import join_offsets
from dissensus.core.receipt import shared_receipt
from dissensus.core.spec import as_specs, check_specs
from dissensus.draws import Plausibilities
from dissensus.evaluation.sums import FINDING
from dissensus.metrics.base import HALF, Metric
from dissensus.predictions.lists import Predictions, aligned_models, predictions_of_finding
from dissensus.study.question import PAIR
from dissensus.study.study import Study

# What a lone model is called.
ONE = "model"

# How many annotated cases, and opinions on each on average, a prior that models inform is fitted to at the least.
LEAST_CASES, LEAST_OPINIONS = 100, 2

# The metrics that answers to a kind of question are usually reported by.
METRICS: Mapping[str, tuple[str, ...]] = {
    "binary": ("auroc", "average-precision", "sensitivity", "specificity", "f-beta", "top-k-accuracy:1"),
    "grades": (
        *("top-k-accuracy:1", "within-grades:1", "grade-error", "cohen-kappa:quadratic", "ranked-probability-score"),
    ),
    "conditions": ("top-k-accuracy:1,3", "set-accuracy:2,3", "average-overlap:3"),
}
OF_NUMBERS = ("mean-absolute-error", "rmse", "correlation")


def default_aggregations(question: str = "conditions", *, sweep: bool = False) -> tuple[Aggregation, ...]:
    """Return the reference run: Plackett-Luce at reliability 1, or normal-inverse-gamma for numbers.

    A sweep is that of the paper: Plackett-Luce and probabilistic inverse ranks at five reliabilities each. Where
    annotators choose one of two answers, or a grade, nobody ranks anything: Plackett-Luce at three reliabilities.

    >>> len(default_aggregations()), len(default_aggregations(sweep=True))
    (1, 10)
    """
    texts: tuple[str, ...] = ("plackett-luce:1,2,3,5,10", "probabilistic-inverse-rank:10,20,30,50,100")
    if question == "numbers":
        texts = ("normal-inverse-gamma",)
    elif not sweep:
        texts = ("plackett-luce:1",)
    elif question != "conditions":
        texts = ("plackett-luce:1,3,10",)
    return tuple(as_specs(Aggregation.family, texts))


def default_metrics(
    study: Study, models: Mapping[str, Predictions], conditions: tuple[str, ...], categories: Categories | None
) -> tuple[Metric, ...]:
    """Return the metrics that a kind of question is usually reported by, as far as all models can be measured by them.

    Of conditions they are those of the paper's main figure.
    """
    kinds = {model.kind for model in models.values()}
    wanted = OF_NUMBERS if "numbers" in kinds else METRICS.get(study.question, METRICS["conditions"])
    if study.question == "conditions" and (study.mentions_per_ranking <= 1).all():  # nobody names a set of several
        wanted = tuple(metric for metric in wanted if not metric.startswith("set-accuracy"))
    if categories is not None:
        wanted = (*wanted, "category-accuracy")
    known = {} if categories is None else {"categories": categories.labels}
    found = as_specs(Metric.family, wanted, known)
    return tuple(metric for metric in found if metric.depth < len(conditions) and kinds <= set(metric.accepts))


def chosen_metrics(
    wanted: Sequence[Metric | str],
    primary: Metric | str | None,
    study: Study,
    models: Mapping[str, Predictions],
    known: Mapping[str, Any],
) -> tuple[Metric, ...]:
    """Return the metrics that are asked for, the primary one first.

    Of two answers that models give scores to, a decision is a score of at least one half, and the name of the metric
    says so, unless there is another threshold.
    """
    is_scored = study.question == "binary" and all(model.kind == "scores" for model in models.values())

    def read(given: Sequence[Metric | str]) -> list[Metric]:
        specs: list[Any] = as_specs(Metric.family, given, known)
        return [
            replace(spec, threshold=HALF) if is_scored and getattr(spec, "threshold", 0.0) is None else spec
            for spec in specs
        ]

    found = read(wanted)
    if primary is None:
        return tuple(found)
    name, names = str(primary), [metric.name for metric in found]
    if name not in names:
        with suppress(DissensusError):
            name = read([primary])[0].name
    first = known_name("metric", name, names)
    return tuple(sorted(found, key=lambda metric: metric.name != first))


def with_panel_unless(
    reason: str, study: Study, chosen: tuple[Aggregation, ...], wanted: bool | None
) -> tuple[tuple[Aggregation, ...], str]:
    """Add the aggregation whose prior the models inform, unless there is a reason not to."""
    if any(spec.is_informed for spec in chosen):
        return chosen, ""
    if wanted is False:
        return chosen, "it was not asked for"
    added: list[Aggregation]
    if study.kind == "ratings":
        own: list[Any] = [spec for spec in chosen if spec.id == "normal-inverse-gamma"]
        added = [replace(spec, prior="informed", reliability=1.0) for spec in own[:1]]
        reason = reason or ("" if added else "no aggregation is a normal-inverse-gamma model of the ratings")
    else:
        kind = "dirichlet" if study.unranked == "unobserved" else "plackett-luce"
        added = as_specs(Aggregation.family, [f"{kind}:prior=informed"])
    if wanted and reason:
        raise DissensusError("what a large panel would say cannot be estimated", got=reason, advice="leave panel out")
    return (chosen, reason) if reason else ((*chosen, *added), "")


def with_prior(chosen: Sequence[Aggregation], prior: str) -> tuple[Aggregation, ...]:
    """Give a prior to all aggregations that have one; a number for alpha stays, unless the strength is fitted.

    Examples
    --------
    >>> from dissensus.aggregations import MajorityVote, PlackettLuce
    >>> with_prior([PlackettLuce(3), MajorityVote()], "symmetric")[0].parameters()["prior"]
    'symmetric'
    """
    if not any("prior" in spec.parameters() and spec.needs == "rankings" for spec in chosen):
        raise DissensusError(
            "no aggregation has a prior that can be chosen by name",
            got=listing([spec.id for spec in chosen]),
            advice="leave --prior out, or choose plackett-luce or dirichlet",
        )
    found: list[Aggregation] = []
    for spec in chosen:
        given = spec.parameters()
        has_prior = "prior" in given and spec.needs == "rankings"
        if has_prior and (prior == "informed" or isinstance(given.get("alpha"), str)):
            given.pop("alpha", None)
        found.append(type(spec).from_parameters({**given, "prior": prior}) if has_prior else spec)
    return tuple(dict.fromkeys(found))


def why_no_panel(study: Study, models: Mapping[str, Predictions]) -> str:
    """Say why a prior cannot be fitted to a study and its models; empty if it can."""
    counts = study.counted.panel.votes_per_case
    counted = {"n_annotated": int((counts > 0).sum()), "n_opinions": int(counts.sum())}
    reason = panel_reason(study.kind, len(models), **counted)
    if reason or study.kind != "ratings":
        return reason
    if any(model.kind != "numbers" for model in models.values()):
        return "opinions are ratings, and not all models give numbers"
    return "" if study.opinions.squares.any() else "no two ratings of a case differ"


def why_all_trained(trained_on: Sequence[str], models: Mapping[str, Predictions]) -> str:
    """Say why no model can inform a prior, if all were trained on the annotations; refuse names that are no models."""
    check_trained_on(trained_on, models)
    return "all models were trained on these annotations" if models and {*models} == {*trained_on} else ""


def panel_reason(kind: str, n_models: int, *, n_annotated: int, n_opinions: int) -> str:
    """Say why a prior cannot be fitted to what models and annotators say; empty if it can.

    >>> panel_reason("rankings", 2, n_annotated=200, n_opinions=250)
    'the mean number of opinions per case is 1.2, and at least 2 are needed'
    """
    if not n_models:
        return "there are no predictions"
    if kind not in ("rankings", "ratings"):
        return f"opinions are {kind}, not conditions or ratings"
    if n_annotated < LEAST_CASES:
        return f"there are {n_annotated} annotated cases, and at least {LEAST_CASES} are needed"
    if n_opinions < LEAST_OPINIONS * n_annotated:
        mean = n_opinions / n_annotated
        return f"the mean number of opinions per case is {mean:.2g}, and at least {LEAST_OPINIONS} are needed"
    return ""


def chosen_aggregations(
    given: Sequence[Aggregation | Plausibilities | str] | None, question: str = "conditions", *, sweep: bool = False
) -> tuple[Aggregation, ...]:
    """Return the aggregations that are asked for, each once; draws from elsewhere count as one."""
    if given is None:
        return default_aggregations(question, sweep=sweep)
    if sweep:
        raise DissensusError(
            "a sweep and aggregations are both given",
            expected="one of them: the sweep is a list of aggregations by itself",
            advice="leave sweep (--sweep) out, and name reliabilities as in plackett-luce:1,3,10",
        )
    items = _listed(given)
    if any(isinstance(item, Plausibilities) for item in items):
        from dissensus.aggregations.base import GivenDraws

        items = [GivenDraws(item) if isinstance(item, Plausibilities) else item for item in items]
    chosen = tuple(as_specs(Aggregation.family, items))
    for number, spec in enumerate(chosen):
        if spec in chosen[:number]:
            raise DissensusError("an aggregation is given twice", got=repr(spec), advice="leave one of them out")
    return chosen


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def models_of(predictions: Any, study: Study) -> Mapping[str, Any]:
    """Return predictions by model: what is no mapping, or one by case, is of one model, and nothing of none."""
    if predictions is None:
        return {}
    is_by_model = isinstance(predictions, Mapping) and not (predictions and {*predictions} <= {*study.case_names})
    return predictions if is_by_model else {ONE: predictions}


def asked_questions(
    study: Study, predictions: Any, columns: Mapping[str, Sequence[str]], *, allow_missing: bool
) -> Questions:
    """Align models to a study, and keep the cases that all of them have, with the labels of these.

    Parameters
    ----------
    columns
        Name to one label per case of the study, pictures among them.
    """
    how: dict[str, Any] = {"allow_missing": allow_missing, "question": study.question}
    said = aligned_models(models_of(predictions, study), study.case_names, study.conditions, **how)
    common, labels = set(common_cases(study, said)), {}
    for column, of_cases in columns.items():
        check_length(f"{column} label", len(of_cases), study.n_cases)
        pairs = zip(study.case_names, of_cases, strict=True)
        labels[column] = {name: str(label) for name, label in pairs if name in common}
    return Questions.of(study.select([name in common for name in study.case_names]), said, labels)


def common_cases(annotations: Study, models: Mapping[str, Predictions]) -> list[str]:
    """Return the cases that every model has, in the order of the annotations."""
    shared = set(annotations.case_names).intersection(*(model.case_names for model in models.values()))
    if not shared:
        got = f"{len(models)} models: {', '.join(map(repr, models))}"
        raise DissensusError("the models have no case in common", got=got)
    return [name for name in annotations.case_names if name in shared]


def listed_metrics(given: Sequence[Metric | str]) -> tuple[Metric | str, ...]:
    """Return metrics or their texts as they are given; refuse anything else."""
    found = tuple(_listed(given))
    check_specs(Metric.family, found)
    return found


def check_request(metrics: Sequence[Metric], models: Mapping[str, Predictions], level: float) -> None:
    """Refuse what cannot be evaluated before anything is drawn."""
    if models and not metrics:
        raise DissensusError("there is nothing to evaluate", expected="at least one metric")
    check_share("level", level)
    check_names("metric", tuple(metric.name for metric in metrics))
    for model in models.values():
        for metric in metrics:
            metric.check(model)


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
