"""Learn a target from a user's own scan, test it on what was held out, and map the weights.

Rule evaluate_own_fmri. Volumes near in time are alike: whole runs are held out or, of a single run, stretches
with gaps between them; parameters are chosen inside each training part, by runs or stretches, too.
"""

from collections.abc import Callable, Mapping
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
from reproduction.experiments.ksupport.protocol import Grids, Scaling, correlations, fit_ksupport
from reproduction.experiments.own_fmri.scans import OwnScan, OwnSeries
from reproduction.pipeline.job import job

#: Parameters of the k-support norm that are tried; the number of voxels joins ``ks``.
KSUPPORT = Grids(
    alphas=(), l1_ratios=(), ks=(10, 100, 1000), lams=(1.0, 0.3, 0.1, 0.03, 0.01, 0.003), tol=1e-3
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
#: Weights, and the parameters that were chosen, from rows, target, unlabelled rows and folds to choose in.
Learner = Callable[[NDArray, NDArray, NDArray, NDArray], tuple[NDArray, dict[str, Any]]]


def learn_laplacian_kcca(
    X: NDArray, y: NDArray, extra: NDArray, folds: NDArray
) -> tuple[NDArray, dict[str, Any]]:
    """Fit `LaplacianKCCA`; unlabelled rows help to estimate the Laplacian."""
    model = LaplacianKCCACV().fit(X, y, X_extra=extra if len(extra) else None, groups=folds)
    told = {"eps": model.eps_, "gamma": model.gamma_, "at_edge": "; ".join(model.at_edge_)}
    return model.x_weights_[:, 0], told


def learn_ksupport(X: NDArray, y: NDArray, extra: NDArray, folds: NDArray) -> tuple[NDArray, dict[str, Any]]:
    """Fit the k-support norm, which has no use for unlabelled rows; of equals the strongest penalty."""
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
    told = {"k": int(fits.shape[best]), "lam": float(fits.strength[best])}
    return weights, told | {"nonzeros": int(np.count_nonzero(weights))}


LEARNERS: dict[str, Learner] = {"laplacian_kcca": learn_laplacian_kcca, "ksupport": learn_ksupport}


def main(series: str, folder: Path, *, method: str, target: str, folds: int) -> None:
    """Write ``values.json``, ``correlations.csv``, ``weights.nii.gz`` and ``map.html`` into ``folder``."""
    data, learn = OwnSeries.read(series), LEARNERS[method]
    folder.mkdir(parents=True, exist_ok=True)
    table = held_out(data, learn, folds)
    weights, chosen = learn(data.X, data.y, data.unlabelled, data.stretches)
    img = to_image(weights, data.mask, data.affine)
    table.to_csv(folder / "correlations.csv", index=False, lineterminator="\n")
    nib.save(img, folder / "weights.nii.gz")
    mean = float(table["correlation"].mean())
    title = f"{target}, {method}: weights above 2 SD. Correlation on volumes held out: {mean:.3f}."
    _write_page(folder / "map.html", title, img, data)
    write_results(
        folder,
        {
            "method": method,
            "target": target,
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
    """Return the correlation on each part that was held out, with what was chosen without it."""
    n, runs = len(data.y), np.unique(data.runs)
    sampling = Sampling("runs", n, runs=data.runs if len(runs) > 1 else data.stretches)
    count = min(folds, len(runs)) if len(runs) > 1 else folds
    rows = []
    for number, split in enumerate(sampling.folds(np.arange(n), count, seed=0)):
        train, test = split.train, split.test
        weights, chosen = learn(data.X[train], data.y[train], data.unlabelled, data.stretches[train])
        found = correlations(data.X[test], data.y[test], weights[None])[0]
        rows.append({"fold": number, "volumes": len(test), "correlation": found, **chosen})
    return pd.DataFrame(rows)


def _write_page(path: Path, title: str, img: nib.Nifti1Image, data: OwnSeries) -> None:
    background = nib.Nifti1Image(data.background, data.affine)
    view = interactive_map(img, background, mask=data.mask)
    path.write_text(PAGE.format(title=escape(title), view=view.html), encoding="utf-8")


def arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Take the arguments of `main` out of the configuration."""
    return {
        "method": settings.get("method", "laplacian_kcca"),
        "target": settings["target"],
        "folds": OwnScan.of(settings).folds,
    }


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.series,
            Path(snakemake.output.values).parent,
            **arguments(snakemake.params.settings),
        )
