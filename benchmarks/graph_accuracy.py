"""Accuracy on real graphs: subtree patterns of discrete labels, and of a pyramid over vector labels.

MUTAG and ENZYMES, 10-fold cross-validation of an SVM with a normalized kernel; height and C are chosen in
the training part, where the quantizations are learned too. Needs ERMLAB_MIRROR.
"""

import argparse

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from weisfeiler_lehman import real_sets

from ermlab.kernels.pyramid import PyramidWL
from ermlab.kernels.weisfeiler_lehman import WeisfeilerLehman, linear_kernel

HEIGHTS = (0, 1, 2, 3)
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)


def nested_accuracy(model, samples, y, seed):
    """Return the mean accuracy over 10 folds, with height and C chosen by 5 folds of each training part."""
    accuracies = []
    inner = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(samples, y):
        fits = []
        for h in HEIGHTS:
            model.set_params(h=h)
            features = model.fit_transform([samples[i] for i in train])
            new_features = model.transform([samples[i] for i in test])
            svm = GridSearchCV(SVC(kernel="precomputed"), {"C": CS}, cv=inner)
            svm.fit(linear_kernel(features), y[train])
            fits.append((svm.best_score_, svm.score(linear_kernel(new_features, features), y[test])))
        accuracies.append(max(fits, key=lambda fit: fit[0])[1])
    return np.mean(accuracies)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for name, graphs in real_sets().items():
        methods = {"discrete labels": (WeisfeilerLehman(normalize=True), graphs.node_labels)}
        if graphs.node_attributes is not None:
            methods["pyramid"] = (PyramidWL(normalize=True, standardize=True), graphs.node_attributes)
        for method, (model, labels) in methods.items():
            samples = list(zip(graphs.adjacency, labels, strict=True))
            means = [
                100 * nested_accuracy(model, samples, graphs.labels, seed) for seed in range(options.repeats)
            ]
            print(
                f"{name}, {method}: {np.mean(means):.1f} % +- {np.std(means):.1f} over repetitions",
                flush=True,
            )


if __name__ == "__main__":
    main()
