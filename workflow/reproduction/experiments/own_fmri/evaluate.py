"""Predict a target from a scan of the user on held-out volumes, and map the weights (rule evaluate_own_fmri).

Neighboring volumes are similar, so whole runs are held out or, of a single run, stretches with gaps between
them. Parameters are chosen inside each training part, again by runs or stretches.
"""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.cca.selection import LaplacianKCCACV
from ermlab.fmri import excessive_motion
from ermlab.fmri.plotting import interactive_map, to_image
from ermlab.metrics.splits import Sampling
from reproduction.claims.results import write_results
from reproduction.experiments.fmri_studies.studies import Scaling
from reproduction.experiments.ksupport.protocol import Grids, correlations, fit_ksupport
from reproduction.experiments.own_fmri.prepare import OwnScan, OwnSeries
from reproduction.pipeline.job import Paths, run_stage

#: Grid of the k-support norm; the number of voxels is added to ``ks``.
KSUPPORT = Grids(
    alphas=(),
    l1_ratios=(),
    ks=(10, 100, 1000),
    ksupport_alphas=(1.0, 0.3, 0.1, 0.03, 0.01, 0.003),
    tol=1e-3,
)
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family: sans-serif; margin: 2em">
<p>{title}</p>
{view}
</body>
</html>
"""
#: From rows, target, unlabelled rows and fold of each row to the weights and the chosen parameters.
Learner = Callable[[NDArray, NDArray, NDArray, NDArray], tuple[NDArray, dict[str, Any]]]


def learn_laplacian_kcca(
    X: NDArray, y: NDArray, extra: NDArray, folds: NDArray
) -> tuple[NDArray, dict[str, Any]]:
    """Fit `LaplacianKCCA`, with unlabelled rows in the estimate of the Laplacian."""
    model = LaplacianKCCACV().fit(X, y, X_extra=extra if len(extra) else None, groups=folds)
    chosen = {"eps": model.eps_, "gamma": model.gamma_, "at_edge": "; ".join(model.at_edge_)}
    return model.x_weights_[:, 0], chosen


def learn_ksupport(X: NDArray, y: NDArray, extra: NDArray, folds: NDArray) -> tuple[NDArray, dict[str, Any]]:
    """Fit the k-support norm, which does not use unlabelled rows; of ties the strongest penalty is chosen."""
    scores = []
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        scaling, target = Scaling.of(X[train]), Scaling.of(y[train])
        fits = fit_ksupport(scaling(X[train]), target(y[train]), KSUPPORT)
        scores.append(correlations(scaling(X[test]), y[test], fits.coefs))
    best = int(np.mean(scores, axis=0).argmax())
    scaling = Scaling.of(X)
    fits = fit_ksupport(scaling(X), Scaling.of(y)(y), KSUPPORT)
    weights = fits.coefs[best] / scaling.deviation
    return weights, {
        "k": int(fits.shape[best]),
        "lam": float(fits.strength[best]),
        "nonzeros": int(np.count_nonzero(weights)),
    }


LEARNERS: dict[str, Learner] = {"laplacian_kcca": learn_laplacian_kcca, "ksupport": learn_ksupport}


def main(inputs: Paths, outputs: Paths, *, scan: OwnScan) -> None:
    """Write the held-out correlations, and the weights of a model of all volumes as image and web page."""
    data, learn = OwnSeries.read(inputs["series"]), LEARNERS[scan.method]
    folder = Path(outputs["values"]).parent
    folder.mkdir(parents=True, exist_ok=True)
    table = held_out(data, learn, scan.folds)
    weights, chosen = learn(data.X, data.y, data.unlabelled, data.stretches)
    img = to_image(weights, data.mask, data.affine)
    table.to_csv(outputs["correlations"], index=False, lineterminator="\n")
    nib.save(img, outputs["weights"])
    mean = float(table["correlation"].mean())
    title = f"{scan.target}, {scan.method}: weights above 2 SD. Correlation on held-out volumes: {mean:.3f}."
    _write_page(Path(outputs["map"]), title, img, data)
    write_results(
        folder,
        {
            "method": scan.method,
            "target": scan.target,
            "correlation": mean,
            "correlations": table["correlation"].to_numpy(),
            "held_out": "runs" if len(np.unique(data.runs)) > 1 else "stretches",
            "chosen": chosen,
            "volumes": len(data.X),
            "unlabelled_volumes": len(data.unlabelled),
            "voxels": data.X.shape[1],
            "largest_translation_mm": float(np.abs(data.motion[:, :3]).max()),
            "largest_rotation_degrees": float(np.abs(data.motion[:, 3:]).max()),
            "excessive_motion": excessive_motion(data.motion),
        },
    )


def held_out(data: OwnSeries, learn: Learner, folds: int) -> pd.DataFrame:
    """Return the correlation on each held-out part, with the parameters chosen without it."""
    n, runs = len(data.y), np.unique(data.runs)
    sampling = Sampling("runs", n, runs=data.runs if len(runs) > 1 else data.stretches)
    count = min(folds, len(runs)) if len(runs) > 1 else folds
    rows = []
    for number, split in enumerate(sampling.folds(np.arange(n), count, seed=0)):
        train, test = split.train, split.test
        weights, chosen = learn(data.X[train], data.y[train], data.unlabelled, data.stretches[train])
        correlation = correlations(data.X[test], data.y[test], weights[None])[0]
        rows.append({"fold": number, "volumes": len(test), "correlation": correlation, **chosen})
    return pd.DataFrame(rows)


def _write_page(path: Path, title: str, img: nib.Nifti1Image, data: OwnSeries) -> None:
    background = nib.Nifti1Image(data.background, data.affine)
    view = interactive_map(img, background, mask=data.mask)
    path.write_text(PAGE.format(title=escape(title), view=view.html), encoding="utf-8")


if "snakemake" in globals():
    run_stage(main, snakemake)
