"""crowd-kit's table: task, worker, label."""

from __future__ import annotations

from dissensus.core.files import Source
from dissensus.study.reading.long import Long, is_crowd_kit


class CrowdKit(Long):
    """Table of task, worker and label, as crowd-kit has it."""

    id = "crowd-kit"
    title = "table of task, worker, label"

    def recognises(self, source: Source) -> bool:
        """Tell crowd-kit's table by its columns: task, worker (formerly performer) and label."""
        return is_crowd_kit(source)
