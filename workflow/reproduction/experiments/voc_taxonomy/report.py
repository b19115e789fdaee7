"""Sentences about the taxonomies of VOC classes, computed from the results."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from reproduction.claims.uncertainty import estimate
from reproduction.experiments.taxonomies import difference_text


def area_text(values: Mapping[str, Any]) -> str:
    """Compare the mean areas of the methods, and say what the controls show."""
    areas = values["mean_auc"]

    def difference(first: str, second: str) -> str:
        return difference_text(areas[first], areas[second], ".3f")

    better = sum(
        float(estimate(learned)[0]) > float(estimate(semantic)[0])
        for learned, semantic in zip(values["auc"]["learned"], values["auc"]["semantic"], strict=True)
    )
    return "\n".join(
        [
            "- The mean area with the learned taxonomy minus that with the semantic one is "
            f"{difference('learned', 'semantic')}. It is larger for {better} of {len(values['classes'])} "
            f"classes, and significantly smaller for {values['classes_worse']}.",
            f"- Minus that without a taxonomy it is {difference('learned', 'multiclass')}, and minus that "
            f"with shuffled classes {difference('learned', 'permuted')}.",
            "- The learned topology with lengths by eq. 5.34, minus the learned taxonomy: "
            f"{difference('learned_topology', 'learned')}.",
        ]
    )


def sample_text(values: Mapping[str, Any]) -> str:
    """Say what the sample can carry: images, areas without a taxonomy, and agreement of learned trees."""
    trees = values["learned_trees"]
    images = max(values["train_images"])
    area = float(estimate(values["mean_auc"]["multiclass"])[0])
    stable = trees["distance"] < 0.75 * trees["permuted"]
    chosen = Counter(values["descriptions"])
    described = " and ".join(f"the {name} in {number}" for name, number in sorted(chosen.items()))
    return (
        f"Of {len(values['descriptions'])} orders, the selection on the scoring images takes {described}. "
        f"Trees and classifiers are trained on {images} images for {len(values['classes'])} classes. Without "
        f"a taxonomy the mean area is {area:.3f}, and 0.5 is chance. Two trees learned from different images "
        f"differ in {100 * trees['distance']:.0f} % of their splits, with shuffled classes in "
        f"{100 * trees['permuted']:.0f} %: the images {'do' if stable else 'do not'} determine a topology."
    )
