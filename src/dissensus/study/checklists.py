"""Studies in which annotators say which findings of a list they see."""

from dissensus.study.builders import unknown_finding as unknown_finding
from dissensus.study.question import ABSENT as ABSENT
from dissensus.study.question import ANSWERS as ANSWERS
from dissensus.study.question import NOT_ASSESSED as NOT_ASSESSED
from dissensus.study.question import PAIR as PAIR
from dissensus.study.question import PRESENT as PRESENT
from dissensus.study.question import AnswerArray as AnswerArray
from dissensus.study.study import Checklists as Checklists
