"""Logs of Inspect: samples are cases, and scorers annotators, or epochs, as asked."""

from __future__ import annotations

from dataclasses import replace

from dissensus.core.errors import FormatError
from dissensus.core.files import INSPECT, Source
from dissensus.core.names import known_name
from dissensus.core.receipt import AS_SAID
from dissensus.study.reading.format import Options, Parsed
from dissensus.study.reading.guesses import holds_numbers
from dissensus.study.reading.long import Long


class InspectLog(Long):
    """Scores of samples, a row per sample, epoch and scorer."""

    id = "inspect"
    title = "Inspect log (.eval): samples are cases, scorers annotators (or --column annotator=epoch)"
    kinds = ("table",)

    def recognises(self, source: Source) -> bool:
        """Tell a log by the ending of its name."""
        return source.path.suffix.lower() == INSPECT

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read a score (or, if said, an answer) as an opinion; further epochs are further opinions of a scorer."""
        by_epoch = options.columns.get("annotator") == "epoch"
        usual = {"annotator": "scorer", "annotation": "scorer" if by_epoch else "epoch", "condition": "value"}
        said = {**usual, **options.columns}
        names = source.table.columns if source.is_table else ()
        name = known_name("column", str(said["condition"]), names, purpose="for the condition")
        values = source.table[name]
        if holds_numbers(values) and not set(values.drop_nulls()) <= {"0", "1", "0.0", "1.0"}:
            raise FormatError(
                "the scores of the log are numbers",
                expected="words such as C and I, or 0 and 1",
                got=f"for example {values[0]}",
                advice="read them as ratings: --format ratings --column score=value --column annotator=scorer",
            )
        parsed = super().parse(source, replace(options, columns=said))
        own = {name for name in options.columns.values() if name}
        columns = tuple(
            replace(one, reason="of the log") if one.reason == AS_SAID and one.name not in own else one
            for one in parsed.columns
        )
        return replace(parsed, columns=columns)
