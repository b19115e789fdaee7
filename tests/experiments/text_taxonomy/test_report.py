"""Tables and sentences about the newsgroups, on results counted by hand."""

from reproduction.claims.results import repeated
from reproduction.experiments.text_taxonomy.protocol import LOSSES
from reproduction.experiments.text_taxonomy.report import difference_table, forms_text


def test_differences_of_losses():
    losses = [repeated([value]) for value in (0.2, 0.3, 0.6, 0.7)]
    controls = {"learned_topology": repeated([0.5]), "permuted": repeated([0.4])}
    values = {"loss": dict.fromkeys(LOSSES, losses), "controls": dict.fromkeys(LOSSES, controls)}
    table = difference_table(values)
    assert list(table) == ["0-1 loss", "taxonomic loss"]
    assert table["0-1 loss"].tolist() == ["+0.100", "-0.300", "+0.200", "+0.200", "-0.100"]


def test_iterations_and_memory():
    memory = {"posts": [60, 120], "over_order": [2.0, 1.5], "over_joint_kernel": [0.02, 0.01]}
    text = forms_text({"iterations_to_gap": {"kronecker": 7, "cached": 8}}, {"memory": memory})
    assert "needs 7 iterations and the cached form 8" in text
    assert "With 60, 120 posts the Kronecker form needs 2.00, 1.50 times" in text
    assert "1 % of what the joint kernel" in text
