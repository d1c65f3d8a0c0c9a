"""Studies whose reports are looked at in the tests, and pages that note what goes wrong in them."""

import base64
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, Route

import dissensus as ds
from dissensus.aggregations import PlackettLuce, ProbabilisticInverseRank
from dissensus.core.arrays import FloatArray
from dissensus.metrics import SetAccuracy, TopKAccuracy

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
BOLD = "<b>x</b>"
FORMULA = "=HYPERLINK(1)"
AWKWARD = "#&?/ é </script>"


def observed(*reliabilities: float) -> list[PlackettLuce]:
    """Return the plainest runs of Plackett-Luce: without anything that is learned from the study."""
    return [PlackettLuce(one, alpha=1.0, prior="observed") for one in reliabilities]


@dataclass
class Opened:
    """A page, the addresses it asked for beyond files, and everything that went wrong in it."""

    page: Page
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.route("**/*", self._answer)
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))

    def _answer(self, route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
            return
        self.asked.append(route.request.url)
        route.abort()


def simulated_models(theta: FloatArray, qualities: dict[str, float]) -> dict[str, FloatArray]:
    generator = np.random.default_rng(5)
    return {
        name: np.exp(quality * np.log(theta + 1e-9) + generator.gumbel(size=theta.shape))
        for name, quality in qualities.items()
    }


def demo_study(directory: Path, *, n_cases: int = 60) -> ds.Evaluation:
    """Evaluate four models on a simulated study; four cases have an image, of which
    one does not exist and two are elsewhere.
    """
    study = ds.simulate.study(n_cases=n_cases, n_conditions=12, seed=3)
    said = study.annotations
    (directory / "picture one.png").write_bytes(base64.b64decode(PIXEL))
    return ds.evaluate(
        said,
        simulated_models(study.theta, {"Aster": 2.0, "Birch": 1.9, "Cedar": 1.0, "Dogwood": 0.3}),
        aggregations=[*map(PlackettLuce, (1, 3)), *map(ProbabilisticInverseRank, (10, 30))],
        metrics=[TopKAccuracy(1), SetAccuracy(2)],
        draws=80,
        categories=ds.Categories.from_labels(["low", "medium", "high"] * 4, said.conditions),
        strata={"site": [["Basel", "Bonn", "Turin"][i % 3] for i in range(n_cases)]},
        images=[
            *("picture one.png", "missing.png", "https://example.org/3.png", "//example.org/4"),
            *[""] * (n_cases - 4),
        ],
    )


def nasty_study() -> ds.Evaluation:
    """Evaluate models on a study whose names try to be something else."""
    conditions = (SCRIPT, "100 % {x} & \u2028 more", "plain")
    rankings = [[[[SCRIPT], ["plain"]], [["plain"]]], [[["plain", SCRIPT]]], [[[conditions[1]]]]]
    said = ds.Study.from_rankings(
        rankings, conditions, case_names=[IMAGE, FORMULA, AWKWARD], annotator_names=[[SCRIPT, BOLD], [IMAGE], [SCRIPT]]
    )
    generator = np.random.default_rng(1)
    return ds.evaluate(
        said,
        {BOLD: generator.random((3, 3)), SCRIPT: generator.random((3, 3))},
        aggregations=observed(3),
        metrics=[TopKAccuracy(1)],
        draws=40,
        categories=ds.Categories.from_labels([BOLD, SCRIPT, "low"], conditions),
        strata={IMAGE: [SCRIPT, "@x", "+1"]},
    )
