"""Call every kernel once, through the functions that users call, and say what compiling them took.

Run as a program in a fresh process: it prints the seconds of processor time as JSON, those of aggregation and all
together, and the kernels that were compiled never, or more than once.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from pkgutil import iter_modules

from numba.core.dispatcher import Dispatcher

import dissensus.kernels
from dissensus.compilation.exercises import EXERCISES


def first_time_only(name: str) -> float:
    """Return the processor time of doing an exercise for the first time less that of the second."""
    times = [time.process_time()]
    for _ in range(2):
        EXERCISES[name]()
        times.append(time.process_time())
    begin, first, second = times
    return (first - begin) - (second - first)


def kernels() -> dict[str, Dispatcher]:
    """Find all functions that Numba compiles, by module and name."""
    names = [module.name for module in iter_modules(dissensus.kernels.__path__)]
    modules = {name: import_module(f"dissensus.kernels.{name}") for name in names}
    return {
        f"{name}.{key}": value
        for name, module in modules.items()
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }


def main() -> None:
    """Print what compiling took."""
    found = kernels()
    aggregating = sum(first_time_only(name) for name in EXERCISES if name != "evaluation")
    evaluating = first_time_only("evaluation")
    how_often = {name: len(kernel.signatures) for name, kernel in found.items()}
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
