import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from reproduction.claims.results import over_seeds
from reproduction.experiments.pedestrians.measures import (
    TITLES,
    error_table,
    group_table,
    growing_group,
    mean_roc,
)


def test_mean_roc_has_the_mean_area():
    rng = np.random.default_rng(0)
    labels = [rng.permutation(np.repeat([1, -1], [40, 160])) for _ in range(3)]
    scores = [rng.normal(size=200) + one for one in labels]
    rates = np.linspace(0, 1, 20001)
    curve = mean_roc(labels, scores, rates)
    areas = [roc_auc_score(*pair) for pair in zip(labels, scores, strict=True)]
    assert np.trapezoid(curve, rates) == pytest.approx(np.mean(areas), abs=1e-3)
    assert (np.diff(curve) >= 0).all()


def test_mean_roc_of_a_perfect_order_and_of_equal_scores():
    y = np.array([1, 1, -1, -1])
    assert mean_roc([y], [y], [0, 0.5, 1]).tolist() == [1, 1, 1]
    assert mean_roc([y], [np.zeros(4)], [0, 0.5, 1]).tolist() == [0, 0.5, 1]


def test_mean_roc_needs_as_many_scores_as_labels():
    with pytest.raises(ValueError, match="2 sets of labels and 1"):
        mean_roc([[1, -1]] * 2, [[0, 1]], [0.5])


def test_growing_group_follows_one_sample():
    groups = [[0, 1, 2, 3, 4, 5], [0, 1, 1, 2, 3, 3], [0, 1, 1, 1, 0, 0]]
    members = growing_group(groups)
    assert [one.tolist() for one in members] == [[1], [1, 2], [1, 2, 3]]


@pytest.fixture
def values():
    errors = {name: over_seeds([10.0 - k, 12.0 - k]) for k, name in enumerate(TITLES)}
    degrees = [over_seeds([20.0 + k, 22.0 + k]) for k in range(2)]
    lines = {"ranking": degrees, "ranking_natural": degrees}
    return {
        "eer_of_all": errors,
        "eer_cropped": {"none": over_seeds([11.0, 13.0]), "all": over_seeds([11.5, 12.0])},
        "auc": errors,
        "virtual_used_of_all": errors,
        "price": dict.fromkeys(TITLES, 1.0),
        "grouped_eer": lines,
        "grouped_auc": lines,
        "samples_used": lines,
        "virtual_used": lines,
        "groups": [over_seeds([8, 9]), over_seeds([4, 5])],
    }


def test_differences_are_taken_pair_by_pair(values):
    table = error_table(values).set_index("method")
    assert len(table) == len(TITLES) + 2
    assert table.loc["no transformation", "eer"] == "11.00 ± 1.41"
    assert table.loc["flips, worst case", "difference"] == "-1.00 ± 0.00"
    assert table.loc["flips, worst case", "lower in"] == "2 of 2"
    cut = table.loc["all 18, worst case; cut crops"]
    assert (cut["difference"], cut["lower in"]) == ("-0.25 ± 1.06", "1 of 2")


def test_groups_are_told_by_degree(values):
    table = group_table(values).set_index(["method", "grouping"])
    assert len(table) == 4
    assert table.loc[("ranking, natural", 2), "eer"] == "22.00 ± 1.41"
    assert table.loc[("ranking", 1), "pedestrians used"] == 21
