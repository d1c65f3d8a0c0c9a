"""The long form: a table with one row per mentioned condition."""

from __future__ import annotations

from dissensus.core.files import Source
from dissensus.core.notes import Note
from dissensus.study.reading.columns import as_table, column_names, has_role
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.lists import holds_lists
from dissensus.study.tables import find_columns, notes_on_columns, with_roles, without_second_order

CROWD_KIT = ("task", "label")
CROWD_WORKER = ("worker", "performer")
BY_ORDER = "confidences order the conditions; their values are not used (--confidence share uses them)"


class Long(Format):
    """Table with one row per mentioned condition."""

    id = "long"
    title = "table with one row per mentioned condition"

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a condition column."""
        is_long = has_role(source, "case") and has_role(source, "condition") and not holds_lists(source)
        return is_long and not is_crowd_kit(source)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        table = as_table(source)
        found = find_columns(table.columns, options.columns)
        roles = without_second_order(found, options.columns, options.confidence)
        notes = notes_on_columns(table.columns, found)
        for spare in found.keys() - roles.keys():
            order = "rank" if spare == "confidence" else "confidence"
            notes = (*notes, Note(f"{spare} column beside a {order} column", 1, f"not used, the {order} decides"))
        assumed = (BY_ORDER,) if "confidence" in roles and options.confidence is None else ()
        return Parsed(with_roles(table, roles), notes, tie_separator=options.tie_separator, assumed=assumed)


def is_crowd_kit(source: Source) -> bool:
    """Tell a table that has crowd-kit's columns and no ranks."""
    names = column_names(source)
    has_columns = names.issuperset(CROWD_KIT) and not names.isdisjoint(CROWD_WORKER) and "rank" not in names
    return has_columns and not holds_lists(source)


def is_partly_long(source: Source) -> bool:
    """Tell a table that has some of the columns of the long form, but not all it needs."""
    return source.is_table and any(has_role(source, role) for role in ("case", "condition", "annotator"))
