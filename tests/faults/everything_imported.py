"""Imports whatever an evaluation of pieces needs, so that processes that are forked from here begin at once."""

import dissensus.cli.app
import dissensus.cli.evaluate
import dissensus.cli.options
import dissensus.cli.terminal
import dissensus.compilation
import dissensus.evaluation.store
import dissensus.pieces.evaluation  # noqa: F401 - importing is all it is for
