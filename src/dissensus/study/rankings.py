"""Studies in which annotators rank conditions."""

from dissensus.study.study import Annotations as Annotations
