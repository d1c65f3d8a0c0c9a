"""``dissensus compile``: what the first use would do."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from dissensus.cli.options import option
from dissensus.cli.progress import compile_with_progress


def compile_now(
    workers: Annotated[int | None, option("Processes at once; by default one per processor, at most 3.")] = None,
    force: Annotated[bool, option("Compile anew what is compiled already.", "--force")] = False,
) -> None:
    """Compile all kernels now, so that no later command has to wait; for setting up machines and images.

    [bold]Examples[/bold]

      dissensus compile

      dissensus compile --force

      NUMBA_CACHE_DIR=/var/cache/dissensus dissensus compile
    """
    from dissensus.compilation import EXERCISES, needed
    from dissensus.core.checks import check_count

    if workers is not None:
        check_count(workers=workers)
    if not needed() and not force:
        typer.echo("all kernels are compiled already")
        return
    begin = time.perf_counter()
    compile_with_progress(EXERCISES, workers, force=force)
    typer.echo(f"all kernels are compiled ({time.perf_counter() - begin:.0f} s)")
