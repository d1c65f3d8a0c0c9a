"""Is one model better than the other, whatever the trust in the annotators? Writes a report.

Run: python examples/compare_models.py
"""

from pathlib import Path

import dissensus as ds

DATA = Path(__file__).parent / "data"

opinions = ds.read(DATA / "opinions.csv")
models = ds.read_models(
    [f"Aster={DATA / 'aster.csv'}", f"Birch={DATA / 'birch.csv'}"],
    conditions=opinions.conditions,
    cases=opinions.case_names,
)
result = ds.evaluate(
    opinions,
    models,
    aggregations=["plackett-luce:1,3,10"],
    metrics=["top-k-accuracy:1,3", "average-overlap:3"],
    categories=ds.Categories.from_file(DATA / "risks.csv", opinions.conditions),
    draws=1000,
    seed=1,
)
for row in result.to_frame().iter_rows(named=True):
    who = f"{row['run']:<18}{row['model']:<8}{row['metric']:<22}"
    print(f"{who}{row['estimand']:<11}{row['mean']:.2f}  [{row['low']:.2f}, {row['high']:.2f}]")
print()
for row in result.compare().to_frame().iter_rows(named=True):
    print(f"{row['run']:<18}{row['estimand']:<11}{row['metric']:<22}{row['verdict']}")
ds.write_report(result, Path("comparison.html"), overwrite=True)
print("\nwrote comparison.html")
