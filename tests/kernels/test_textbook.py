import importlib.util
from pathlib import Path

import numpy as np

from kernels.kernel_studies import assert_same, chain_means, posterior_of

TEXTBOOK = Path(__file__).parents[2] / "benchmarks" / "peers" / "textbook.py"


def test_the_textbook_sampler_has_the_same_posterior_means() -> None:
    specification = importlib.util.spec_from_file_location("textbook", TEXTBOOK)
    assert specification is not None
    assert specification.loader is not None
    textbook = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(textbook)
    rankings = [[[0, 1], [2]], [[2], [0]]]
    chains = [
        textbook.sample_textbook(
            rankings, 5, reliability=2, alpha=1.0, draws=250, warmup=30, rng=np.random.default_rng(seed)
        ).mean(axis=0)
        for seed in range(16)
    ]
    theirs = np.array(chains)
    ours, _ = chain_means(posterior_of([rankings], 5, 2.0, prior="symmetric"), 0, 40, 1000, seed=1)
    assert_same(np.column_stack([theirs[:, :3], theirs[:, 3:].sum(axis=1)]), ours)
