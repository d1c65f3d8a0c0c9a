"""Words that need an explanation, and where they are used."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

GLOSSARY = {
    "case": "One example of the test set, such as one patient or one image.",
    "annotator": "A person who gave an opinion on a case.",
    "condition": "One of the possible answers, such as a diagnosis.",
    "ranking": "What one annotator said about a case: conditions in order, most likely first. Conditions that share a "
    "place are tied. Conditions that were not mentioned come last.",
    "tie": "Two or more conditions that an annotator put at the same place.",
    "rating": "A number that an annotator gave to a case.",
    "plausibilities": "How plausible each condition of a case is given all opinions: numbers between 0 and 1 that add "
    "up to 1.",
    "draw": "One plausible set of plausibilities. Many draws together show what the opinions leave open.",
    "reliability": "How much each opinion is trusted. The larger it is, the more the opinions count and the less "
    "remains open. It cannot be known from the data, so results are shown for several values.",
    "certainty": "The share of draws that agree on the most plausible condition of a case. 1 means that the opinions "
    "settle it; 0.5 means that they could as well support another answer.",
    "aggregation": "The statistical model that turns the opinions on a case into plausibilities.",
    "standard evaluation": "The usual practice: opinions are collapsed into one answer per case, and the model is "
    "compared with that answer as if it were certain.",
    "adjusted": "Averaged over all draws, so that the disagreement of the annotators counts.",
    "optimism": "How much better a model looks in standard evaluation than in the adjusted one.",
    "interval": "The range in which the value lies with the stated probability, on cases like these that are "
    "annotated in the same way.",
    "point": "One percentage point: the step from 0.70 to 0.71.",
    "not distinguishable": "The interval of the difference between two models includes zero: the data do not tell "
    "which one is better.",
    "expected risk": "The average risk level of a case, with each condition weighted by its plausibility.",
    "disagreement": "How often the opinion of one annotator does not contain the answer of the others (1 minus "
    "agreement).",
    "agreement": "One annotator is left out; is the answer of the others among what this one said? Averaged over "
    "annotators. Unknown where a case has only one.",
    "category": "A group of conditions, such as a level of risk.",
    "support": "The conditions of a case that at least one annotator mentioned.",
    "Monte Carlo error": "What the results would move if the draws were repeated with other random numbers.",
    "chain": "Draws of some aggregations come one after the other, in chains. Several chains show whether they agree.",
    "R-hat": "Compares chains with each other. Values near 1 are good; above 1.05 deserve a look.",
    "flip": "Two models change order when another metric or another aggregation is used.",
}
"""What every technical term means, in a sentence or two."""


def term(word: str, shown: str | None = None) -> Markup:
    """Mark a term so that a pointer, a finger or the keyboard can ask what it means.

    >>> term("draw", "draws")
    Markup('<a class="term" href="#term-draw" data-term="draw">draws</a>')
    """
    if word not in GLOSSARY:
        raise KeyError(word)
    return Markup('<a class="term" href="#{}" data-term="{}">{}</a>').format(anchor(word), word, shown or word)


def anchor(word: str) -> str:
    """Return where the glossary explains a term.

    >>> anchor("expected risk")
    'term-expected-risk'
    """
    return f"term-{word.replace(' ', '-')}"


METRICS = (
    ("expected top-", "How much plausibility the draws give to the model's first conditions."),
    ("category accuracy", "The share of draws whose category is among those of the model's first conditions."),
    ("set accuracy", "The share of draws in which the first conditions of the model and of the draw are the same set."),
    ("accuracy", "The share of draws whose most plausible condition is among the model's first."),
    ("average overlap", "How much the first places of model and draw have in common; early places count more."),
    (
        "rank-biased overlap",
        "How much the lists of model and draw have in common; each place counts less than the last.",
    ),
    ("overlap", "The share of the first conditions that model and draw have in common."),
    ("Kendall", "How similar model and draw order their first conditions, pair by pair."),
    ("Spearman", "How similar model and draw order their first conditions, by how far each is moved."),
    ("coverage", "The share of draws whose most plausible condition is in the set that the model names."),
    ("set size", "How many conditions the model names; of two sets that hold the answer, the smaller is better."),
    ("log score", "How well the model's probabilities predict the plausibilities; 0 would be perfect."),
    ("Brier", "How far the model's probabilities are from the plausibilities; 0 would be perfect."),
)
"""What metrics measure, by a part of their names; the first that fits explains."""

AGGREGATIONS = {
    "plackett-luce": "Reads a ranking as the order in which conditions arrive in a race; more plausible ones arrive "
    "earlier. Ties and conditions that were not mentioned are part of the model.",
    "probabilistic-inverse-rank": "Gives each condition the weight 1, 1/2, 1/3 ... by its place and spreads the "
    "plausibilities around the average weights.",
    "dirichlet": "Counts single answers and spreads the plausibilities around their shares.",
    "normal-inverse-gamma": "Takes ratings as measurements with an unknown mean and spread.",
    "annotator-bootstrap": "Asks what would have come out if other annotators of the same kind had been asked.",
    "majority-vote": "Counts first choices; nothing stays open.",
    "inverse-rank": "Averages the weights 1, 1/2, 1/3 ... by place; nothing stays open.",
    "plackett-luce-ml": "Takes the single best fit of the race model; nothing stays open.",
}
"""What aggregations do, by name."""


def metric_meanings(names: Iterable[str]) -> dict[str, str]:
    """Explain metrics, those that measure alike together; the keys are their names, joined.

    >>> list(metric_meanings(["top-1 accuracy", "my metric", "top-3 accuracy"]))
    ['top-1 accuracy, top-3 accuracy']
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(metric_meaning(name), []).append(name)
    return {", ".join(some): text for text, some in groups.items() if text}


def metric_meaning(name: str) -> str:
    """Say in a sentence what a metric measures; nothing for a metric of the user's own.

    >>> metric_meaning("top-2 set accuracy")
    'The share of draws in which the first conditions of the model and of the draw are the same set.'
    """
    return next((text for part, text in METRICS if part in name), "")
