"""Predict a target from a scan of the user on held-out volumes, and map the weights (rule evaluate_own_fmri).

Neighboring volumes are similar, so whole runs are held out or, of a single run, stretches with gaps between
them. Parameters are chosen inside each training part, again by runs or stretches. Chance level, the curve
over ``eps`` and ridge regression are written for every method.
"""

from html import escape
from math import ceil
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.cca.selection import EPS_GRID, GAMMA_GRID
from ermlab.fmri import Decoding, excessive_motion
from ermlab.fmri.cross_decoding import cross_decode
from ermlab.fmri.decoder import BLOCK, folds_of
from ermlab.fmri.plotting import interactive_map, to_image
from ermlab.fmri.targets import Target
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
<p>Laplacian KCCA<br>{summary}</p>
{view}
{curve}
</body>
</html>
"""


def decode_own(data: OwnSeries, scan: OwnScan) -> Decoding:
    """Cross-validate Laplacian KCCA, with unlabelled rows in the estimate of the Laplacian.

    Voxels keep their variance, which is larger where the brain responds: volumes are scaled globally before.
    """
    extra = data.unlabelled if len(data.unlabelled) else None
    gap = ceil(scan.gap / scan.repetition_time)
    folds = folds_of(data.runs, data.stretches, scan.folds, max(1, ceil(BLOCK * gap)))
    means = data.runs if len(np.unique(data.runs)) > 1 else data.stretches
    drifts = (means[:, None] == np.unique(means)).astype(np.float64)
    return cross_decode(
        data.X,
        Target.numbers(data.y, drifts),
        folds,
        X_extra=extra,
        eps=EPS_GRID,
        gamma=GAMMA_GRID if extra is not None else (0.0,),
        n_permutations=scan.permutations,
    )


def ksupport_scores(data: OwnSeries, folds: int) -> pd.DataFrame:
    """Return the correlation of the k-support norm on each held-out part."""
    rows = []
    count = min(folds, len(np.unique(data.runs)))
    outer = data.runs % count if count > 1 else data.stretches
    for part in np.unique(outer):
        train, test = outer != part, outer == part
        weights, chosen = learn_ksupport(data.X[train], data.y[train], data.stretches[train])
        correlation = correlations(data.X[test], data.y[test], weights[None])[0]
        rows.append({"part": part, "volumes": np.count_nonzero(test), "score": correlation, **chosen})
    return pd.DataFrame(rows)


def learn_ksupport(X: NDArray, y: NDArray, stretches: NDArray) -> tuple[NDArray, dict[str, Any]]:
    """Fit the k-support norm; of ties the strongest penalty is chosen."""
    scores = []
    for stretch in np.unique(stretches[stretches >= 0]):
        train, test = (stretches != stretch) & (stretches >= 0), stretches == stretch
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


def main(inputs: Paths, outputs: Paths, *, scan: OwnScan) -> None:
    """Write the held-out correlations, and the weights of a model of all volumes as image and web page."""
    data = OwnSeries.read(inputs["series"])
    folder = Path(outputs["values"]).parent
    folder.mkdir(parents=True, exist_ok=True)
    found = decode_own(data, scan)
    table, weights, score = found.parts, found.weights[0], found.score
    chosen: dict[str, Any] = {"eps": found.eps, "gamma": found.gamma}
    if scan.method == "ksupport":
        table = ksupport_scores(data, scan.folds)
        weights, chosen = learn_ksupport(data.X, data.y, data.stretches)
        score = float(table["score"].mean())
    img = to_image(weights, data.mask, data.affine)
    table.rename(columns={"part": "fold", "score": "correlation"}).to_csv(
        outputs["correlations"], index=False, lineterminator="\n"
    )
    found.curve.to_csv(outputs["curve"], index=False, lineterminator="\n")
    nib.save(img, outputs["weights"])
    title = f"{scan.target}, {scan.method}: weights above 2 SD. Correlation on held-out volumes: {score:.3f}."
    curve = found.curve[found.curve["gamma"] == found.gamma].to_string(index=False)
    print(f"{title}\nLaplacian KCCA: {found.summary()}\n{curve}")
    _write_page(Path(outputs["map"]), title, img, data, found)
    write_results(
        folder,
        {
            "method": scan.method,
            "target": scan.target,
            "correlation": score,
            "correlations": table["score"].to_numpy(),
            "laplacian_kcca": found.score,
            "interval": found.interval,
            "chance": found.chance,
            "chance_interval": found.chance_interval,
            "p_value": found.p_value,
            "ridge": found.ridge,
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


def _write_page(path: Path, title: str, img: nib.Nifti1Image, data: OwnSeries, found: Decoding) -> None:
    background = nib.Nifti1Image(data.background, data.affine)
    view = interactive_map(img, background, mask=data.mask)
    curve = found.curve.to_html(index=False, float_format="{:.3g}".format)
    summary = escape(found.summary()).replace("\n", "<br>")
    page = PAGE.format(title=escape(title), summary=summary, curve=curve, view=view.html)
    path.write_text(page, encoding="utf-8")


if "snakemake" in globals():
    run_stage(main, snakemake)
