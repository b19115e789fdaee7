"""The scripts of the theory exhibits: what they must write, and the same bytes each time."""

from importlib import import_module
from inspect import signature

import pytest

from reproduction.claims.results import read_results

SIZES = {
    "structured_losses": {"points": 20},
    "ranking_bounds": {"seed": 1, "trials": 20},
}
NAMES = {
    "structured_losses": {
        "margin_minus_step_min",
        "slack_minus_step_min",
        "difference_at_margin_point",
        "convexity_violation",
    },
    "ranking_bounds": {
        "slack_minus_margin_sigma_half_max",
        "slack_minus_margin_sigma_two_min",
        "slack_minus_margin_sigma_one_abs_max",
        "rate",
        "stability_ratio_max",
        "trained_stability_ratio_max",
    },
}


class Outputs(dict):
    """The output files of a rule, by name, in one folder."""

    def __init__(self, folder):
        super().__init__(values=str(folder / "values.json"))
        self.folder = folder

    def __missing__(self, name):
        return str(self.folder / f"{name}.csv")


@pytest.mark.parametrize("experiment", SIZES)
def test_it_writes_what_the_claims_need_and_the_same_twice(experiment, tmp_path):
    main = import_module(f"reproduction.experiments.{experiment}.evaluate").main
    folders = [tmp_path / turn / experiment for turn in ("once", "twice")]
    for folder in folders:
        folder.mkdir(parents=True)
        if "outputs" in signature(main).parameters:
            main({}, Outputs(folder), **SIZES[experiment])
        else:
            main(folder, **SIZES[experiment])
    assert NAMES[experiment] <= read_results(folders[0])["values"].keys()
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
