"""The command `ermlab graphs`: kernel matrices of graphs, and the accuracy of an SVM with them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, bar, examples, force_option, json_option, show, working
from ermlab.cli._outputs import check_file, writing
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ermlab.kernels import GraphSet

#: Values of C from which an inner cross-validation chooses.
GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@click.command(
    epilog=examples(
        "ermlab graphs MUTAG kernel.npz", "ermlab graphs MUTAG kernel.csv --kernel pyramid --height 2"
    )
)
@click.argument("folder", type=PATH)
@click.argument("matrix", type=PATH)
@click.option("--name", help="Name of the data set, by default that of the file FOLDER/NAME_A.txt.")
@click.option(
    "--kernel",
    type=click.Choice(["auto", "subtree", "pyramid"]),
    default="auto",
    show_default=True,
    help="subtree: Weisfeiler-Lehman patterns of labels; pyramid: of node attributes. "
    "auto: pyramid if nodes have attributes.",
)
@click.option("--height", default=3, show_default=True, help="Largest height of the patterns.")
@click.option("--folds", default=10, show_default=True, help="Folds of the cross-validation; 0 for none.")
@click.option("--seed", default=0, show_default=True, help="Seed of the folds.")
@force_option
@json_option
def graphs(
    folder: Path,
    matrix: Path,
    name: str | None,
    kernel: str,
    height: int,
    folds: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Compute the normalized Weisfeiler-Lehman kernel of graphs.

    FOLDER has the text files of the TU Dortmund collection: NAME_A.txt, NAME_graph_indicator.txt,
    NAME_graph_labels.txt and, if there are any, NAME_node_labels.txt and NAME_node_attributes.txt.

    MATRIX is an .npz file with the arrays K and labels, or a .csv file. If the graphs have two classes or
    more, the accuracy of an SVM with the kernel is estimated by cross-validation; C is chosen inside of each
    training part.
    """
    if matrix.suffix.lower() not in (".npz", ".csv"):
        raise click.BadParameter(f"{matrix}: expected a name that ends in .npz or .csv", param_hint="MATRIX")
    if folds < 0 or folds == 1:
        raise click.BadParameter(f"{folds}: expected 0, or at least 2", param_hint="--folds")
    check_file(matrix, force)
    with working("computing the kernel"):
        from ermlab.kernels import read_tu

        data = read_tu(folder, name or _only_name(folder))
        kernel = _kernel_of(data, kernel)
        K = kernel_matrix(data, kernel, height)
    accuracy = cross_validate(K, data.labels, folds, seed) if folds else None
    _write(matrix, K, data)
    summary = {
        "matrix": str(matrix),
        "name": data.name,
        "graphs": len(data),
        "nodes": sum(A.shape[0] for A in data.adjacency),
        "kernel": kernel,
        "height": height,
        **_summary(accuracy, data.labels),
    }
    text = f"{matrix}: {kernel} kernel of {len(data)} graphs with {summary['nodes']} nodes"
    if accuracy is not None:
        text += (
            f"\naccuracy of an SVM in {folds}-fold cross-validation: {summary['accuracy']:.3f} +- "
            f"{summary['standard_deviation']:.3f}, largest class {summary['largest_class']:.3f}"
        )
    show(summary, text, as_json)


def kernel_matrix(data: GraphSet, kernel: str, height: int) -> NDArray[Any]:
    """Return the normalized kernel of all pairs of graphs."""
    from ermlab.kernels import PyramidWL, WeisfeilerLehman, linear_kernel

    if kernel == "pyramid":
        transformer, labels = PyramidWL(h=height, normalize=True), data.node_attributes
    else:
        transformer, labels = WeisfeilerLehman(h=height, normalize=True), data.joint_labels
    return linear_kernel(transformer.fit_transform(list(zip(data.adjacency, labels, strict=True))))


def cross_validate(K: NDArray[Any], labels: NDArray[Any], folds: int, seed: int) -> NDArray[Any] | None:
    """Return the accuracy of each fold; None without two classes that have a sample for each fold."""
    import numpy as np
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) < 2:
        return None
    if counts.min() < folds:
        raise DataError(
            f"a class has {counts.min()} graphs: expected at least one for each of {folds} folds, --folds 0 "
            "computes the kernel alone"
        )
    accuracy = []
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with bar(folds, "cross-validation") as progress:
        for train, test in outer.split(K, labels):
            inner = min(5, int(np.unique(labels[train], return_counts=True)[1].min()))
            search = SVC(kernel="precomputed")
            if inner >= 2:
                search = GridSearchCV(search, {"C": GRID}, cv=inner)
            search.fit(K[np.ix_(train, train)], labels[train])
            accuracy.append(search.score(K[np.ix_(test, train)], labels[test]))
            progress.update(1)
    return np.array(accuracy)


def _only_name(folder: Path) -> str:
    """Return the name of the only data set in a folder."""
    ends = ("_A.txt", "_A_sparse.txt")
    found = sorted({path.name.removesuffix(end) for end in ends for path in folder.glob(f"*{end}")})
    if len(found) == 1:
        return found[0]
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected one with NAME_A.txt")
    what = f"data sets {', '.join(found)}" if found else "no file NAME_A.txt"
    raise DataError(f"{folder}: {what}; expected one data set, or its --name")


def _kernel_of(data: GraphSet, kernel: str) -> str:
    """Return the kernel to use."""
    if kernel == "auto":
        return "subtree" if data.node_attributes is None else "pyramid"
    if kernel == "pyramid" and data.node_attributes is None:
        raise DataError(f"{data.name}: no attributes of nodes; expected some for the pyramid kernel")
    return kernel


def _summary(accuracy: NDArray[Any] | None, labels: NDArray[Any]) -> dict[str, Any]:
    """Return the results of the cross-validation."""
    import numpy as np

    if accuracy is None:
        return {"accuracy": None, "standard_deviation": None, "largest_class": None}
    largest = np.unique(labels, return_counts=True)[1].max() / len(labels)
    return {
        "accuracy": float(accuracy.mean()),
        "standard_deviation": float(accuracy.std()),
        "largest_class": float(largest),
    }


def _write(path: Path, K: NDArray[Any], data: GraphSet) -> None:
    import numpy as np

    with writing(path) as part:
        if path.suffix.lower() == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, K=K, labels=data.labels)
        else:
            with part.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([map(repr, row) for row in K.tolist()])
