"""Counts, shares, probabilities and differences as sentences write them, and words that need an explanation."""

from __future__ import annotations

import math

from markupsafe import Markup

MINUS = "\N{MINUS SIGN}"

# Stands where there is no number.
NOTHING = "\N{EN DASH}"

# Probabilities nearer to 0 or 1 than this are not told apart from it, however many draws there are.
LEAST = 0.001


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """Count a noun, with separators.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "category", "categories")
    ('1 case', '1,200 cases', '2 categories')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    r"""Write the share of things that can be counted, without claiming all or nothing where that is not so.

    The space before the sign does not break.

    >>> percent(0.591), percent(0.9999), percent(1.0), percent(0.002)
    ('59\xa0%', 'over 99\xa0%', '100\xa0%', 'under 1\xa0%')
    """
    if 0 < share < 0.005:
        return "under 1\xa0%"
    if 0.995 <= share < 1:
        return "over 99\xa0%"
    return f"{100 * share:.0f}\xa0%"


def probability(chance: float, n_draws: int) -> str:
    r"""Write a probability that was found by counting draws; draws that all agree do not make it certain.

    >>> probability(0.591, 1000), probability(0.997, 1000), probability(1.0, 1000), probability(0.0, 80)
    ('59\xa0%', '99.7\xa0%', 'over 99.9\xa0%', 'under 1.3\xa0%')
    """
    if math.isnan(chance):
        return NOTHING
    room = min(max(1 / n_draws, LEAST), 0.5)
    if chance > 1 - room:
        return f"over {math.floor(1000 * (1 - room)) / 10:g}\xa0%"
    if chance < room:
        return f"under {math.ceil(1000 * room) / 10:g}\xa0%"
    return f"{100 * chance:.0f}\xa0%" if 0.01 <= chance <= 0.99 else f"{100 * chance:.1f}\xa0%"


def small_probability(value: float) -> str:
    """Write a p-value.

    >>> small_probability(0.0312), small_probability(0.0002), small_probability(1.0)
    ('0.031', '< 0.001', '1.000')
    """
    return f"< {LEAST:g}" if value < LEAST else number(value)


def p_values(alone: float, adjusted: float) -> str:
    """Write a p-value, and beside it the one that Holm's adjustment makes of it, where that is another.

    >>> p_values(0.0031, 0.0482), p_values(0.0002, math.nan), p_values(0.0002, 0.0004)
    ('p = 0.003 (Holm-adjusted 0.048)', 'p < 0.001', 'p < 0.001')
    """
    plain, many = small_probability(alone), small_probability(adjusted)
    told = f"p {'' if plain.startswith('<') else '= '}{plain}"
    return told if many in (plain, NOTHING) else f"{told} (Holm-adjusted {many})"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a dash where there is none; one more digit where rounding would make it 1 or -1.

    >>> number(0.5), number(0.998, 2), number(1.0, 2), number(None) == NOTHING
    ('0.500', '0.998', '1.00', True)
    """
    if value is None or math.isnan(value):
        return NOTHING
    nearly = abs(value) < 1 <= round(abs(value), digits)
    return f"{value:.{digits + nearly}f}".replace("-", MINUS)


def value(found: float | None, digits: int = 3) -> str:
    """Write the value of a metric: undefined where it has none, a dash where it was not computed.

    >>> value(0.5), value(float("nan"))
    ('0.500', 'undefined')
    """
    return "undefined" if found is not None and math.isnan(found) else number(found, digits)


def amount(difference: float, *, is_share: bool) -> str:
    r"""Write the size of a difference: of shares in percentage points.

    >>> amount(-0.031, is_share=True), amount(0.01, is_share=True), amount(2.5, is_share=False)
    ('3.1\xa0points', '1.0\xa0point', '2.500')
    """
    if not is_share:
        return f"{abs(difference):.3f}"
    points = round(100 * abs(difference), 1)
    return f"{points:.1f}\xa0{'point' if points == 1 else 'points'}"


def is_visible(difference: float, *, is_share: bool) -> bool:
    """Tell whether anything of a difference is left when it is written.

    >>> is_visible(0.0004, is_share=True), is_visible(0.0006, is_share=True)
    (False, True)
    """
    return round(abs(difference), 3) > 0 if not is_share else round(100 * abs(difference), 1) > 0


def signed(difference: float, *, is_share: bool) -> str:
    r"""Write a difference with its sign.

    >>> signed(0.031, is_share=True), signed(0.0, is_share=True)
    ('+3.1\xa0points', '0.0\xa0points')
    """
    sign = "" if not is_visible(difference, is_share=is_share) else "+" if difference > 0 else MINUS
    return sign + amount(difference, is_share=is_share)


# Words that need an explanation; what metrics and aggregations mean, they say themselves ---------------------

# What every technical term means, in a sentence or two.
GLOSSARY = {
    "case": "One example of the test set, such as one patient or one image.",
    "annotator": "A person who gave an opinion on a case.",
    "condition": "One of the possible answers, such as a diagnosis.",
    "ranking": "What one annotator said about a case: conditions in order, most likely first. Conditions that share a "
    "place are tied. Conditions that were not mentioned come last.",
    "tie": "Two or more conditions that an annotator put at the same place.",
    "rating": "A number that an annotator gave to a case.",
    "finding": "Something that is present or absent on a case, such as a fracture; every finding is a question of its "
    "own.",
    "checklist": "What one annotator said about the findings of a case: each is present, absent or not assessed. "
    "Nothing found is an opinion, too.",
    "grade": "One of several answers in order, such as stages of a disease: a neighbouring grade is less wrong than a "
    "distant one.",
    "positive": "A case that has the condition, or the finding, that is asked about; negative are all others. Which "
    "cases are positive differs from draw to draw.",
    "label": "What a case is in one draw: its most plausible condition (top), or all conditions by their "
    "plausibilities (soft).",
    "AUROC": "Area under the receiver operating characteristic: how often a positive case has a higher score than a "
    "negative one. 0.5 is chance, 1 is perfect.",
    "receiver operating characteristic": "Sensitivity at every threshold, over the share of negative cases that are "
    "called positive there.",
    "sensitivity": "The share of positive cases that are called positive; also called recall.",
    "specificity": "The share of negative cases that are called negative.",
    "predictive value": "Of the cases that are called positive, the share that is (positive predictive value, or "
    "precision); of those called negative, the share that is (negative predictive value). Both depend on how common "
    "positive cases are.",
    "likelihood ratio": "How many times as often a decision is taken for positive cases as for negative ones: above 1, "
    "it speaks for a positive case, below 1 against it.",
    "F1": "The harmonic mean of precision and recall.",
    "kappa": "How much more often the model agrees with the labels than chance would: 1 is always, 0 as often as "
    "chance, below 0 less often. Weighted, near grades count for more than far ones.",
    "confusion matrix": "How many cases of each label are called what; expected numbers, since labels differ from draw "
    "to draw.",
    "calibration error": "How far the probabilities of a model are from the share of positive cases among those that "
    "got them, on average.",
    "reliability diagram": "Probabilities that a model gave, and how many of these cases are positive: on the "
    "diagonal, probabilities are what they say.",
    "net benefit": "Positive cases that are found, less false alarms, each of which counts as much as the threshold "
    "probability says; per case. A decision curve shows it for every threshold.",
    "plausibilities": "How plausible each condition of a case is given all opinions: numbers between 0 and 1 that add "
    "up to 1.",
    "draw": "One plausible set of plausibilities. Many draws together show how far the opinions settle the answer.",
    "reliability": "How much each opinion is trusted. The larger it is, the more the opinions count and the less "
    "remains open. It cannot be known from the data, so results are shown for several values.",
    "certainty": "The share of draws that agree on the most plausible condition of a case. 1 means that the opinions "
    "settle it; 0.5 means that they could as well support another answer.",
    "aggregation": "The statistical model that turns the opinions on a case into plausibilities.",
    "run": "An aggregation with its parameters, as it was sampled.",
    "practice": "What is usually done: one answer per case is made of the opinions by a deterministic aggregation (the "
    "majority vote, inverse ranks, maximum likelihood), and models are compared with it as if it were certain.",
    "point estimate": "The value against one answer per case, as a deterministic aggregation such as the majority vote "
    "gives it: what is usually reported. Each run has the deterministic aggregation that it tends to when opinions are "
    "trusted without limit.",
    "estimand": "What a number is an estimate of: panel, agreement or adjusted. They answer different questions and "
    "are never mixed.",
    "panel": "The metric against what a large panel of annotators like these would say. It is estimated from the "
    "opinions there are and from an informed prior, and its interval holds the uncertainty of both. It needs models, "
    "100 annotated cases and two opinions per case, on average, at the least.",
    "informed prior": "What is expected of a case before its own opinions are counted: the models say it, and the "
    "annotators decide how much it counts. It is fitted so that the first choices of the annotators are as likely as "
    "possible, or mean ratings predicted best; no truth is used. A model that predicts no annotator gets no say, "
    "whatever it claims.",
    "fit": "The coefficients of the informed prior are found from these cases, and others would have given others. The "
    "prior is fitted again to resampled cases, and how far results move is part of the interval.",
    "agreement": "The chance that one annotator of a case, taken at random, says what the model says; for sets and "
    "lists, the value of the metric against what one annotator said, averaged over annotators. No prior is part of it. "
    "It is not a statement about the truth: where experts are divided, no model agrees with all of them.",
    "adjusted": "The metric averaged over all draws of a run, so that the disagreement of the annotators counts. It "
    "assumes that the draws know nothing of the model, and its prior pulls towards chance where opinions are few; so "
    "it depends on the reliability, and is not a statement about the truth. It is the estimand of the paper.",
    "truth": "What is known to be so: the plausibilities that a simulated study was made from, or answers that were "
    "given as such.",
    "interval": "The range in which the value lies with the stated probability, on cases like these that are "
    "annotated in the same way. If annotators are named and read many cases in common, it allows for other annotators "
    "like these; otherwise that part is missing, and the page says so. That of the panel estimand also holds the "
    "uncertainty of the fit.",
    "point": "One percentage point: the step from 0.70 to 0.71.",
    "not distinguishable": "The interval of the difference between two models includes zero, or so many pairs were "
    "compared that a difference of this size may be chance: the data do not tell which one is better.",
    "Holm": "Of many comparisons some come out by chance. Holm's adjustment raises the p-values of the primary metric "
    "so that the probability of any false verdict stays small, all pairs of models taken together.",
    "margin": "The largest difference that does not matter, chosen before looking. A model whose interval stays above "
    "minus the margin is not worse by more than it (non-inferiority); one that stays between both is equivalent.",
    "expected risk": "The average risk level of a case, with each condition weighted by its plausibility.",
    "disagreement": "How often the opinion of one annotator does not contain the answer of the others (1 minus "
    "agreement among annotators).",
    "agreement among annotators": "One annotator is left out; is the answer of the others among what this one said? "
    "Averaged over annotators. Unknown where a case has only one. It compares annotators with each other, not with a "
    "model.",
    "agreement beyond chance": "1: annotators always agree; 0: as often as chance, or opinions of other cases, would "
    "make them; below 0: less often. What counts as chance, and as how far apart two opinions are, differs between "
    "measures, so one is not to be held against another. No measure tells who is right.",
    "category": "A group of conditions, such as a level of risk.",
    "support": "The conditions of a case that at least one annotator mentioned.",
    "Monte Carlo error": "What the results would move if the draws were repeated with other random numbers.",
    "chain": "Draws of some aggregations come one after the other, in chains. Several chains show whether they agree.",
    "R-hat": "Compares chains with each other. Values near 1 are good; above 1.05 deserve a look.",
    "flip": "Of two models, one is better by one metric or aggregation and the other by another, beyond doubt in both.",
}


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
