"""Which cases should be looked at once more? Those on whose first condition the draws agree least.

Run: python examples/label_again.py
"""

from pathlib import Path

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.certainty import annotation_certainty

DATA = Path(__file__).parent / "data"

opinions = ds.read(DATA / "opinions.csv")
draws = PlackettLuce(reliability=1).sample(opinions, draws=1000, seed=1)
certainty = annotation_certainty(draws)

print(f"{opinions.n_cases} cases; {(certainty.values < 0.99).sum()} of them are not certain")
for case in certainty.values.argsort()[:5]:
    most_probable = certainty.winners[case][0]
    print(f"  {certainty.case_names[case]:<10}{certainty.values[case]:.2f}  {most_probable}")
