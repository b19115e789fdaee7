"""The command `ermlab decode`: decode a stimulus from runs of an fMRI scan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, examples, force_option, json_option, plain, show, working
from ermlab.cli._outputs import check_folder, writing_folder
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    from ermlab.fmri import BidsRun, FMRIDecoder


@click.command(
    epilog=examples(
        "ermlab decode study decoded --contrast face,house",
        "ermlab decode run1.nii.gz run2.nii.gz decoded2 --target face --events e1.tsv --events e2.tsv",
    )
)
@click.argument("sources", type=PATH, nargs=-1, required=True)
@click.argument("result", type=PATH)
@click.option(
    "--target", help="Trial type whose expected response is predicted, evaluated by the correlation."
)
@click.option(
    "--contrast",
    metavar="A,B,...",
    help="Trial types to tell apart, evaluated by the balanced accuracy. By default all, without --target.",
)
@click.option("--subject", help="Only this subject of a BIDS folder.")
@click.option("--task", help="Only this task of a BIDS folder.")
@click.option("--space", help="Only images in this space.")
@click.option(
    "--events", type=PATH, multiple=True, help="Table of events of each run, in the order of the runs."
)
@click.option("--tr", type=float, help="Seconds between volumes, by default those of the sidecar or header.")
@click.option("--mask", type=PATH, help="Image of the voxels to use, by default the brain.")
@click.option("--fwhm", default=0.0, show_default=True, help="Spatial smoothing in millimeters.")
@click.option("--high-pass", default=128.0, show_default=True, help="Shortest period of a drift in seconds.")
@click.option("--standardize/--no-standardize", default=True, show_default=True, help="Scale voxels.")
@click.option("--resample", is_flag=True, help="Resample runs to the grid of the first.")
@click.option("--permutations", default=200, show_default=True, help="Shuffled targets for the chance level.")
@click.option("--seed", default=0, show_default=True, help="Seed of the permutations.")
@force_option
@json_option
def decode(
    sources: tuple[Path, ...],
    result: Path,
    target: str | None,
    contrast: str | None,
    subject: str | None,
    task: str | None,
    space: str | None,
    events: tuple[Path, ...],
    tr: float | None,
    mask: Path | None,
    fwhm: float,
    high_pass: float,
    standardize: bool,
    resample: bool,
    permutations: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Predict a stimulus from each volume of a scan, with an honest estimate of how well.

    SOURCES are the 4-D images of the runs of one person, or a folder with BIDS names, such as a data set or
    its derivatives: then the tables of events, the repetition time and brain masks are found by their names.

    Runs, or parts of a single run, are held out. The score is printed with its interval, the chance level
    and the score of ridge regression. The folder RESULT gets weights.nii.gz, curve.csv (score for each
    strength of the regularization), parts.csv (score of each held-out part) and summary.json.
    """
    if target is not None and contrast is not None:
        raise click.UsageError("--target and --contrast are both given: expected one of them")
    check_folder(result, force)
    with working("finding the runs"):
        from ermlab import fmri

        decode_runs = fmri.decode  # first of all, as it names an extra that is not installed
        runs = fmri.find_runs(sources, subject=subject, task=task, space=space)
        tables = _events(runs, events)
        seconds = tr if tr is not None else _repetition_time(runs)
    with working("decoding"):
        decoder = decode_runs(
            [str(run.image) for run in runs],
            repetition_time=seconds,
            events=tables,
            target=target,
            contrast=None if contrast is None else [name.strip() for name in contrast.split(",")],
            mask=_mask(runs) if mask is None else str(mask),
            fwhm=fwhm,
            high_pass=high_pass,
            standardize=standardize,
            resample=resample,
            n_permutations=permutations,
            random_state=seed,
        )
    summary = _summary(decoder, runs, seconds, result)
    with writing_folder(result) as folder:
        decoder.coef_img_.to_filename(folder / "weights.nii.gz")
        decoder.decoding_.curve.to_csv(folder / "curve.csv", index=False)
        decoder.decoding_.parts.to_csv(folder / "parts.csv", index=False)
        text = json.dumps(plain(summary), indent=1) + "\n"
        (folder / "summary.json").write_text(text, encoding="utf-8")
    described = f"{len(runs)} runs, {summary['voxels']} voxels"
    show(summary, f"{described}\n{decoder.decoding_.summary()}\n{result}", as_json)


def _events(runs: list[BidsRun], given: tuple[Path, ...]) -> list[Any]:
    """Return the table of events of each run."""
    from ermlab.fmri import read_events

    if given and len(given) != len(runs):
        raise DataError(f"{len(given)} tables of events: expected one for each of {len(runs)} runs")
    paths = given or [run.events for run in runs]
    for run, path in zip(runs, paths, strict=True):
        if path is None:
            raise DataError(
                f"{run.image}: no table of events; expected *_events.tsv by its name, or --events"
            )
    return [read_events(path) for path in paths]


def _repetition_time(runs: list[BidsRun]) -> float:
    """Return the seconds between volumes according to the sidecars, or the headers without these."""
    from ermlab.fmri import open_image
    from ermlab.fmri.images import header_repetition_time

    times = {}
    for run in runs:
        time = run.repetition_time
        if time is None:
            time = header_repetition_time(open_image(run.image, "a NIfTI image"))
        if time is None:
            raise DataError(
                f"{run.image}: no repetition time in a sidecar or the header; expected --tr SECONDS"
            )
        times[run.image] = float(time)
    if len(set(times.values())) > 1:
        raise DataError(
            f"repetition times {sorted(set(times.values()))}: expected the same of all runs, or --tr"
        )
    return times[runs[0].image]


def _mask(runs: list[BidsRun]) -> Any:
    """Return the voxels that are in the masks of all runs; None if a run has none."""
    masks = [run.mask for run in runs]
    if any(mask is None for mask in masks):
        return None
    from nilearn.masking import intersect_masks

    from ermlab._utils.files import reading

    with reading(masks[0], "masks on the same grid"):
        return intersect_masks([str(mask) for mask in masks], threshold=1.0, connected=False)


def _summary(decoder: FMRIDecoder, runs: list[BidsRun], seconds: float, result: Path) -> dict[str, Any]:
    found = decoder.decoding_
    return {
        "result": str(result),
        "runs": [str(run.image) for run in runs],
        "repetition_time": seconds,
        "voxels": decoder.n_features_in_,
        "volumes": len(found.predictions),
        "scoring": found.scoring,
        "score": found.score,
        "interval": list(found.interval),
        "chance": found.chance,
        "chance_interval": list(found.chance_interval),
        "p_value": found.p_value,
        "ridge": found.ridge,
        "eps": found.eps,
        "gamma": found.gamma,
    }
