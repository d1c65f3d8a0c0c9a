"""Random studies: ties, abstentions, unannotated cases, weights, groups, and names that break careless files."""

import unicodedata

from hypothesis import strategies as st

import dissensus as ds
from dissensus.core.names import Unranked

NASTY_NAMES = (
    *('say "ah"', "Müller's, left", "line\nbreak", "carriage\rreturn", "both\r\nof them", "tab\there", "semi;colon"),
    *("a>b=c|d", "🦠 virus", "<b>bold</b> & <script>alert(1)</script>", " leading", "trailing ", "  ", "7", "007"),
    *("1.0", "-1", "1e5", "nan", "NaN", "null", "NULL", "None", "NA", "true", "inf", "#comment", "[bold red]markup[/]"),
    *('"', '""', "'", ",", "\\", "\\n", "{}", "[]", "\u2028", "\x85", "\ufeffmark", "é", "=1+1"),
    *("unranked", "case"),
)

# files are read with letters and accents composed
plain_names = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6).map(
    lambda name: unicodedata.normalize("NFC", name)
)
names = st.one_of(st.sampled_from(NASTY_NAMES), plain_names)
TIED = st.booleans()
weights = st.just(0.0) | st.floats(min_value=1e-9, max_value=1e9, allow_nan=False, width=64)


def distinct(low: int, high: int) -> st.SearchStrategy[list[str]]:
    """Draw some different names."""
    return st.lists(names, min_size=low, max_size=high, unique=True)


@st.composite
def rankings(draw: st.DrawFn, n_conditions: int) -> list[list[int]]:
    """Draw one ranking as codes: an order of some conditions, cut into blocks; it may be empty."""
    order = draw(st.permutations(range(n_conditions)))
    length = draw(st.integers(0, n_conditions))
    blocks: list[list[int]] = []
    for code in order[:length]:
        tied: bool = draw(TIED)
        if blocks and tied:
            blocks[-1].append(code)
        else:
            blocks.append([code])
    return blocks


@st.composite
def studies(draw: st.DrawFn, *, min_cases: int = 1, max_cases: int = 5) -> ds.Study:
    """Draw a study."""
    conditions = draw(distinct(1, 5))
    case_names = draw(distinct(min_cases, max_cases))
    nested = [draw(st.lists(rankings(len(conditions)), max_size=4)) for _ in case_names]
    people = draw(distinct(1, 4))
    doctor = st.sampled_from(people)
    anybody: st.SearchStrategy[str | None] = st.none() | doctor if draw(st.booleans()) else doctor
    named, weighted, grouped, case_weighted = draw(st.tuples(*[st.booleans()] * 4))
    unranked: Unranked = draw(st.sampled_from(("below", "unobserved")))
    return ds.Study.from_rankings(
        nested,
        conditions,
        case_names=case_names,
        annotator_names=[[draw(anybody) for _ in case] for case in nested] if named else None,
        weights=[[draw(weights) for _ in case] for case in nested] if weighted else None,
        groups=[draw(names) for _ in case_names] if grouped else None,
        case_weights=[draw(weights) for _ in case_names] if case_weighted else None,
        unranked=unranked,
    )
