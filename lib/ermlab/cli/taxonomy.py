"""The command `ermlab taxonomy`: learn a tree of classes from labeled samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, bar, examples, force_option, json_option, show, working
from ermlab.cli._outputs import check_file, writing
from ermlab.cli._pictures import check_picture, new_figure, save_figure
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Values of C from which an inner split of the training samples chooses.
GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
PICTURES = (".png", ".pdf", ".svg")


@click.command(
    epilog=examples(
        "ermlab taxonomy samples.csv tree.nwk --label species",
        "ermlab taxonomy samples.csv tree.nwk --label species --folds 5 --force",
    )
)
@click.argument("samples", type=PATH)
@click.argument("tree", type=PATH)
@click.option("--label", default="label", show_default=True, help="Column, or array, with the classes.")
@click.option("--features", default="X", show_default=True, help="Array of an .npz file with the features.")
@click.option(
    "--method",
    type=click.Choice(["projection", "neighbor_joining", "average_linkage"]),
    default="projection",
    show_default=True,
    help="How a tree is fitted to the distances of the classes.",
)
@click.option("--scale/--no-scale", default=True, show_default=True, help="Standardize the features.")
@click.option("--picture", type=PATH, help="Picture of the tree, by default TREE.png.")
@click.option(
    "--folds",
    default=0,
    show_default=True,
    help="Folds to compare the accuracy of SVMs with and without the taxonomy; 0 for none.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the folds.")
@force_option
@json_option
def taxonomy(
    samples: Path,
    tree: Path,
    label: str,
    features: str,
    method: str,
    scale: bool,
    picture: Path | None,
    folds: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a taxonomy of classes from labeled samples.

    SAMPLES is a table (.csv, .tsv, .parquet) with a column of classes and a column for each feature, or an
    .npz file with the arrays X and label. The tree that fits the distances of the classes (thesis, section
    5.2.5) is written to the file TREE in the Newick format.
    """
    if folds < 0 or folds == 1:
        raise click.BadParameter(f"{folds}: expected 0, or at least 2", param_hint="--folds")
    drawing = check_picture(picture or tree.with_name(tree.name + ".png"), *PICTURES, option="--picture")
    check_file(tree, force)
    check_file(drawing, force)
    with working("learning the taxonomy"):
        X, y = read_samples(samples, label, features)
        learned = learn(X, y, method, scale)
    accuracy = compare(X, y, method, scale, folds, seed) if folds else None
    with writing(tree) as part:
        part.write_text(learned.to_newick() + "\n", encoding="utf-8")
    drawn = _draw(drawing, learned, required=picture is not None)
    summary = {
        "tree": str(tree),
        "picture": str(drawing) if drawn else None,
        "samples": len(X),
        "features": X.shape[1],
        "classes": list(learned.names),
        "newick": learned.to_newick(),
        "accuracy": accuracy,
    }
    text = f"{tree}: taxonomy of {learned.n_leaves} classes from {len(X)} samples"
    text += f"\n{drawing}" if drawn else ""
    if accuracy is not None:
        text += (
            f"\naccuracy in {folds}-fold cross-validation: {accuracy['taxonomy']:.3f} with the taxonomy, "
            f"{accuracy['no_taxonomy']:.3f} without"
        )
    show(summary, text, as_json)


def read_samples(path: Path, label: str, features: str) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return features (n_samples, n_features) and the names of the classes."""
    import numpy as np

    from ermlab._utils.files import broken, reading
    from ermlab._utils.table_files import TableFile

    if path.suffix.lower() == ".npz":
        expected = f"an .npz file with the arrays {features!r} and {label!r}"
        with reading(path, expected), np.load(path, allow_pickle=False) as content:
            X, y = np.asarray(content[features], dtype=np.float64), np.asarray(content[label])
        if X.ndim != 2 or y.shape != X.shape[:1] or not np.isfinite(X).all():
            raise broken(
                path,
                f"features of shape {X.shape} and labels of {y.shape}, or a number that is not finite",
                "finite features (n_samples, n_features) and a label for each sample",
            )
        y = y.astype(str)
    else:
        table = TableFile(path)
        y = table.text(label)
        X = table.numbers([name for name in table.names if name != label])
    if X.shape[1] == 0:
        raise broken(path, "no features", f"columns of numbers beside {label!r}")
    if len(np.unique(y)) < 3:
        raise broken(path, f"{len(np.unique(y))} classes", "at least 3, fewer have no taxonomy")
    return X, y


def learn(X: NDArray[np.float64], y: NDArray[np.str_], method: str, scale: bool) -> Any:
    """Return the taxonomy of the classes."""
    from ermlab.taxonomy import learn_taxonomy

    X = _standardized(X, X) if scale else X
    return learn_taxonomy(X @ X.T, y, method=method).rooted_in_the_middle()


def compare(
    X: NDArray[np.float64], y: NDArray[np.str_], method: str, scale: bool, folds: int, seed: int
) -> dict[str, float]:
    """Return the accuracy of SVMs with a taxonomy, learned from the training part, and without."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold, train_test_split

    from ermlab.taxonomy import unit_trace

    fewest = int(np.unique(y, return_counts=True)[1].min())
    if fewest < max(folds, 3):
        raise DataError(
            f"a class has {fewest} samples: expected at least {max(folds, 3)} for {folds} folds, --folds 0 "
            "learns the taxonomy alone"
        )
    accuracy: dict[str, list[float]] = {"taxonomy": [], "no_taxonomy": []}
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with bar(folds, "cross-validation") as progress:
        for train, test in outer.split(X, y):
            inner = train_test_split(train, test_size=0.3, stratify=y[train], random_state=seed)
            names = np.unique(y[train]).tolist()
            B = unit_trace(learn(X[train], y[train], method, scale).ordered(names).covariance()) * len(names)
            for kind, covariance in (("taxonomy", B), ("no_taxonomy", None)):
                scores = [_accuracy(X, y, *inner, covariance, C, scale) for C in GRID]
                C = GRID[int(np.argmax(scores))]
                accuracy[kind].append(_accuracy(X, y, train, test, covariance, C, scale))
            progress.update(1)
    return {kind: float(np.mean(values)) for kind, values in accuracy.items()}


def _accuracy(
    X: NDArray[np.float64],
    y: NDArray[np.str_],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    B: NDArray[np.float64] | None,
    C: float,
    scale: bool,
) -> float:
    from ermlab.taxonomy import TaxonomicSVM

    given, new = (_standardized(X[train], X[part]) if scale else X[part] for part in (train, test))
    unit = max(float((given**2).sum(axis=1).mean()), 1e-300)  # so that C has the same meaning for all data
    model = TaxonomicSVM(B=B, C=C, tol=1e-2).fit(given @ given.T / unit, y[train])
    return float((model.predict(new @ given.T / unit) == y[test]).mean())


def _standardized(train: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit(train).transform(X)


def _draw(path: Path, learned: Any, *, required: bool) -> bool:
    """Draw the tree; return whether this was possible."""
    figure = new_figure((7.0, 1.0 + 0.24 * learned.n_leaves), required)
    if figure is None:
        return False
    from ermlab.taxonomy import colors_by_group, draw_taxonomy

    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    draw_taxonomy(axes, learned, colors=colors_by_group(learned))
    save_figure(path, figure)
    return True
