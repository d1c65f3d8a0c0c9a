"""Words that need an explanation; what metrics and aggregations mean, they say themselves."""

from __future__ import annotations

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
    "run": "An aggregation with its parameters, as it was sampled.",
    "point estimate": "The value against one answer per case, as a deterministic aggregation such as the majority vote "
    "gives it: what is usually reported. Each run has the deterministic aggregation that it tends to when opinions are "
    "trusted without limit.",
    "adjusted": "Averaged over all draws, so that the disagreement of the annotators counts.",
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
