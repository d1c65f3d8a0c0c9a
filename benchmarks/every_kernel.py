"""Call every kernel once, through the functions that users call, and say what compiling them took.

Run as a program in a fresh process: it prints the seconds of processor time as JSON, those of aggregation and all
together, and the kernels that were compiled never, or more than once.
"""

from __future__ import annotations

import json
import time

from dissensus.compilation.ahead import all_kernels
from dissensus.compilation.exercises import EXERCISES

EVALUATING = ("certainty", "evaluation")


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
    kernels = all_kernels()
    how_often = {kernel.name: len(kernel.dispatcher.signatures) if kernel.dispatcher else 0 for kernel in kernels}
    print(
        json.dumps(
            {
                "aggregating": aggregating,
                "all": aggregating + evaluating,
                "kernels": len(kernels),
                "never": [name for name, times in how_often.items() if times == 0],
                "repeatedly": [name for name, times in how_often.items() if times > 1],
            }
        )
    )


if __name__ == "__main__":
    main()
