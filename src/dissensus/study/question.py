"""What annotators were asked, and the kind of study that it makes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.files import is_number
from dissensus.core.names import AnyQuestion, Question

if TYPE_CHECKING:
    from dissensus.study.study import Study

ORDER = "give them from the lowest to the highest (conditions=[...], --conditions FILE with one name per line)"
POSITIVE = "say which is the positive one (positive=NAME, --positive NAME)"


# Answers: 1 present, 0 absent, -1 not assessed.
AnswerArray: TypeAlias = npt.NDArray[np.int8]

PRESENT, ABSENT, NOT_ASSESSED = 1, 0, -1

# The two conditions of one finding; the last is the positive one.
ANSWERS = ("absent", "present")

# What stands between the name of a case and that of a finding, where the two together are a case.
PAIR = " / "


class Kind(NamedTuple):
    """What a kind of study is called, and what it holds.

    Attributes
    ----------
    opinion, described
        The noun of one opinion, and what the opinions are, for reports.
    aggregated_by
        Which aggregations take this kind.
    arrays
        The fields of a study that hold the opinions.
    """

    opinion: str
    described: str
    aggregated_by: str
    arrays: tuple[str, ...]


# Where the blocks of a ranking and the codes of a block begin, and the codes.
RANKED = ("block_offsets", "code_offsets", "codes")

# Kinds of studies by name.
KINDS = {
    "rankings": Kind("ranking", "partial rankings of conditions", "PlackettLuce and the like", RANKED),
    "ratings": Kind("rating", "numeric ratings", "NormalInverseGamma", ("scores",)),
    "checklists": Kind(
        "checklist", "lists of findings", "any aggregation of rankings, finding by finding (of_finding)", ("answers",)
    ),
}


def check_question(question: AnyQuestion, conditions: Sequence[str], positive: str | None = None) -> None:
    """Refuse a question that these conditions do not answer.

    Examples
    --------
    >>> check_question("binary", ["Nevus", "Melanoma"], "Melanoma")
    """
    if question not in ("findings", "numbers"):
        check_choice("question", question, get_args(Question))
    if question == "binary" and len(conditions) != 2:
        raise DissensusError(
            "a binary question has two conditions",
            expected="exactly two, of which the last is the positive one",
            got=f"{len(conditions)}: {listing(conditions)}" if conditions else "none",
            advice="list both where only one is mentioned (conditions=[...], --conditions FILE)"
            if len(conditions) < 2
            else "leave the question out, or put conditions together first",
        )
    if positive is not None and question != "binary":
        expected = "question 'binary', of two conditions"
        got = f"question {question!r} with the positive condition {positive!r}"
        raise DissensusError("only a binary question has a positive condition", expected=expected, got=got)


def chosen_question(question: Question | None, positive: str | None) -> Question | None:
    """Return what a user says was asked, if anything: to name a positive condition is to ask a binary question.

    Examples
    --------
    >>> chosen_question(None, "Melanoma"), chosen_question("grades", None)
    ('binary', 'grades')
    """
    if question is None:
        return None if positive is None else "binary"
    check_choice("question", question, get_args(Question))
    return question


def conditions_asked(
    question: Question, conditions: Sequence[str], positive: str | None = None, *, are_ordered: bool = True
) -> tuple[str, ...]:
    """Put conditions into the order of a question: the positive one of two last, grades from the lowest.

    Parameters
    ----------
    question, conditions
        What was asked, and the names that answer it.
    positive
        The positive one of two; by default the last, if the order is known.
    are_ordered
        Whether somebody gave the conditions in this order. If not, numbers go by their size, and other names are
        refused: nothing is guessed.

    Examples
    --------
    >>> conditions_asked("binary", ["Melanoma", "Nevus"], "Melanoma")
    ('Nevus', 'Melanoma')
    >>> conditions_asked("grades", ["10", "2", "0"], are_ordered=False)
    ('0', '2', '10')
    """
    check_question(question, conditions, positive)
    if positive is not None:
        known_name("condition", positive, conditions)
        return tuple(sorted(conditions, key=lambda name: name == positive))
    if question == "conditions" or are_ordered:
        return tuple(conditions)
    words = [name for name in conditions if not (is_number(name) and math.isfinite(float(name)))]
    if words:
        raise DissensusError(
            "the order of grades is not known" if question == "grades" else "which condition is positive is not known",
            expected="names that are numbers, or an order",
            got=listing(words),
            advice=ORDER if question == "grades" else POSITIVE,
        )
    return tuple(sorted(conditions, key=float))


# Usual answers to a question of yes or no, the negative one before the positive one.
YES_NO = (
    *(("no", "yes"), ("n", "y"), ("0", "1"), ("0.0", "1.0"), ("false", "true"), ("f", "t"), ("off", "on")),
    *(("negative", "positive"), ("neg", "pos"), ("-", "+"), ("absent", "present"), ("benign", "malignant")),
    *(("normal", "abnormal"), ("healthy", "diseased"), ("healthy", "disease"), ("healthy", "sick")),
    *(("control", "case"), ("incorrect", "correct"), ("i", "c"), ("wrong", "right"), ("fail", "pass")),
    *(("ham", "spam"), ("safe", "unsafe"), ("disagree", "agree"), ("reject", "accept"), ("unlikely", "likely")),
)

# Words that are grades, from the lowest; those of one study are all of one scale.
SCALES = (
    ("none", "absent", "normal", "minimal", "trace", "mild", "moderate", "marked", "severe", "very severe", "critical"),
    ("very low", "low", "medium", "intermediate", "moderate", "high", "very high"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "neither", "agree", "strongly agree"),
    ("never", "rarely", "sometimes", "often", "usually", "always"),
    ("very unlikely", "unlikely", "possible", "likely", "very likely", "certain"),
    ("definitely not", "probably not", "possibly", "probably", "definitely"),
)
GRADE = re.compile(
    r"((?:who |tumou?r |isup )?(?:grade|stage|level|degree|score|tier|gleason|asa|nyha|ecog|kl|[a-z]+-?rads))"
    r"[ _-]*(\d{1,3}|[ivx]{1,4})([a-c]?)",
    re.IGNORECASE,
)
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def recognised_question(names: Sequence[str]) -> tuple[Question, tuple[str, ...]] | None:
    """Tell answers of yes or no, with the positive one last, and grades, from the lowest, by how they are called.

    Examples
    --------
    >>> recognised_question(["malignant", "Benign"]), recognised_question(["edema", "no edema"])
    (('binary', ('Benign', 'malignant')), ('binary', ('no edema', 'edema')))
    >>> recognised_question(["severe", "mild", "none"]), recognised_question(["grade 2", "grade 10", "grade 1"])
    (('grades', ('none', 'mild', 'severe')), ('grades', ('grade 1', 'grade 2', 'grade 10')))
    >>> recognised_question(["cat", "dog"])
    """
    folded = {" ".join(name.casefold().replace("-", " - ").split()).replace(" - ", "-"): name for name in names}
    if len(folded) < len(names):
        return None
    for pair in YES_NO if len(names) == 2 else ():
        if folded.keys() == {*pair}:
            return "binary", tuple(folded[word] for word in pair)
    if len(names) == 2:
        for one, other in permutations(folded):
            if any(one in (f"{word} {other}", f"{word}-{other}") for word in ("not", "non", "no", "without")):
                return "binary", (folded[one], folded[other])
        return None
    for scale in SCALES:
        if folded.keys() <= {*scale}:
            return "grades", tuple(folded[word] for word in scale if word in folded)
    parts = [part.groups() for name in folded if (part := GRADE.fullmatch(name))]
    if len(names) < 3 or len(parts) < len(names) or len({word for word, _, _ in parts}) > 1:
        return None
    numbers = [number for _, number, _ in parts]
    if not (all(number.isdigit() for number in numbers) or all(number in ROMAN for number in numbers)):
        return None
    ranks = [(int(one) if one.isdigit() else ROMAN.index(one), letter) for _, one, letter in parts]
    return "grades", tuple(name for _, name in sorted(zip(ranks, names, strict=True)))


def asked_of(said: Study, question: Question | None, positive: str | None = None, *, are_ordered: bool) -> Study:
    """Tell a study what was asked; to name a positive condition is to ask a binary question.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["Melanoma"]], [["Nevus"]]]])
    >>> asked_of(said, None, "Melanoma", are_ordered=False).conditions
    ('Nevus', 'Melanoma')
    """
    chosen = chosen_question(question, positive) or "conditions"
    names = conditions_asked(chosen, said.conditions, positive, are_ordered=are_ordered)
    if (names, chosen) == (said.conditions, said.question):
        return said
    ordered = said if names == said.conditions else replace(said, question="conditions").with_conditions(names)
    return replace(ordered, question=chosen).with_receipt(said.receipt)


def question_in_words(said: Study) -> str:
    """Say what was asked; nothing where it was which conditions.

    Examples
    --------
    >>> from dissensus import Study
    >>> question_in_words(Study.from_counts([[0, 2, 1]], question="grades"))
    'graded from 0 to 2'
    >>> question_in_words(Study.from_counts([[1, 2]], ["Nevus", "Melanoma"], question="binary"))
    'asked whether Melanoma is present'
    """
    if said.question == "binary":
        return f"asked whether {said.conditions[-1]} is present"
    if said.question == "grades" and said.conditions:
        return f"graded from {said.conditions[0]} to {said.conditions[-1]}"
    return ""
