"""The evaluation of partial annotations writes what its claims need, whatever the number of draws."""

from pathlib import Path

import pandas as pd

from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, load_claims
from reproduction.claims.results import read_results, write_json
from reproduction.experiments.partial_annotation.evaluate import main
from reproduction.experiments.partial_annotation.protocol import SOLVERS, VARIANTS

ROOT = Path(__file__).resolve().parents[3]


def learning_curve():
    """A share has two draws, all events have one; the averaged perceptron is trained on first draws alone."""
    rows = [
        {
            "method": "partial",
            "share": share,
            "draw": draw,
            "loss": 2.0 + draw,
            "seconds": 2.0,
            "inside": True,
        }
        for share, draw in ((0.25, 0), (0.25, 1), (1.0, 0))
    ]
    rows += [row | {"method": "perceptron", "loss": 4.0, "inside": None} for row in rows]
    rows += [row | {"method": "averaged", "inside": None} for row in rows if row["draw"] == 0][:2]
    rows += [
        {"method": method, "share": 1.0, "draw": 0, "loss": loss, "seconds": 1.0, "inside": True}
        for method, loss in (("full", 2.4), ("guess", 5.0), ("wrong", 9.0))
    ]
    return pd.DataFrame(rows)


def ways():
    """The objectives of the variants end at 1; plain needs 10 bounds a step, both needs 2."""
    return pd.DataFrame(
        [
            {
                "solver": solver,
                "start": "guess",
                "variant": variant,
                "iteration": step,
                "objective": 2.0 - step,
                "bounds": 1 + step * (10 if variant == "plain" else 2),
                "seconds": step * (8.0 if variant == "plain" else 1.0),
            }
            for solver in SOLVERS
            for variant in VARIANTS
            for step in range(2)
        ]
    )


def test_claims_are_told_by_the_results(tmp_path):
    learning_curve().to_csv(tmp_path / "curve.csv", index=False)
    ways().to_csv(tmp_path / "ways.csv", index=False)
    write_json(tmp_path / "receipt.json", {"kind": "simulated"})
    folder = tmp_path / "partial_annotation"
    main(
        {"dcelliq_nuclei": str(tmp_path / "receipt.json")},
        {"nuclei": str(tmp_path / "curve.csv")},
        {"nuclei": str(tmp_path / "ways.csv")},
        folder,
    )
    claims = [c for c in load_claims(ROOT / "config/claims.yaml") if c.experiment == "partial_annotation"]
    outcomes = check_claims(
        claims, load_exhibits(ROOT / "config/exhibits.yaml"), {"partial_annotation": read_results(folder)}
    )
    status = {outcome.id.removeprefix("C-fig-"): outcome.status for outcome in outcomes}
    assert status == {
        "1.4.quarter-is-enough": "reproduced",  # 2.5 against 2.4
        "1.4.beats-perceptron": "reproduced",
        "1.5.twice-the-time": "reproduced",
        "1.6.same-objective": "reproduced",
        "1.6.faster": "reproduced",  # 8 s against 1
        "1.7.hundred-bounds": "not reproduced",  # 3
        "1.7.first-iteration": "reproduced",
        "1.7.five-times-fewer": "not reproduced",  # 11 against 3
    }
