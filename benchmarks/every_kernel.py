"""Call every kernel once, through the functions that users call, and say what compiling them took.

Run as a program in a fresh process: it prints the seconds of processor time as JSON, those of aggregation and all
together, and the kernels that were compiled never, or more than once.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from pkgutil import iter_modules

from dissensus import kernels
from dissensus.compilation import EXERCISES
from dissensus.kernels.jit import Kernel

EVALUATING = ("certainty", "ties", "evaluation", "metrics")


def first_time_only(name: str) -> float:
    """Return the processor time of doing an exercise for the first time less that of the second."""
    times = [time.process_time()]
    for _ in range(2):
        EXERCISES[name]()
        times.append(time.process_time())
    begin, first, second = times
    return (first - begin) - (second - first)


def main() -> None:
    """Print what compiling took."""
    aggregating = sum(first_time_only(name) for name in EXERCISES if name not in EVALUATING)
    evaluating = sum(first_time_only(name) for name in EVALUATING)
    modules = [import_module(f"{kernels.__name__}.{module.name}") for module in iter_modules(kernels.__path__)]
    found = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Kernel)}
    how_often = {
        f"{each.function.__module__}.{each.function.__name__}": len(each.dispatcher.signatures) for each in found
    }
    print(
        json.dumps(
            {
                "aggregating": aggregating,
                "all": aggregating + evaluating,
                "kernels": len(found),
                "never": [name for name, times in how_often.items() if times == 0],
                "repeatedly": [name for name, times in how_often.items() if times > 1],
            }
        )
    )


if __name__ == "__main__":
    main()
