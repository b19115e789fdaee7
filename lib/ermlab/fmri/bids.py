"""Finding the runs of a scan, and what belongs to them, by the file names of BIDS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ermlab._utils.files import broken, is_folder, read_json, reading, require_file

if TYPE_CHECKING:
    import pandas as pd

IMAGES = (".nii.gz", ".nii")
#: Folders above an image in which its tables and sidecars are searched.
_LEVELS = 6


@dataclass(frozen=True)
class BidsRun:
    """A run of a scan.

    Attributes
    ----------
    image : Path
        The 4-D image.
    events : Path or None
        Its table of events.
    repetition_time : float or None
        Seconds between volumes according to the sidecar.
    mask : Path or None
        Its brain mask, as preprocessing software writes it.
    """

    image: Path
    events: Path | None
    repetition_time: float | None
    mask: Path | None


def find_runs(
    source: str | Path | Sequence[str | Path],
    *,
    subject: str | None = None,
    task: str | None = None,
    space: str | None = None,
) -> list[BidsRun]:
    """Find the runs of one subject and task, with their events, repetition time and brain mask.

    Parameters
    ----------
    source : str or Path, or a sequence of them
        Folder in which all images ``*_bold.nii.gz`` are runs, such as a BIDS data set, its derivatives or a
        subject in it; or the images themselves, which may have any name. If there are preprocessed images
        (``desc-preproc``), others are ignored.
    subject, task, space : str, optional
        Only images with these values, such as ``"01"`` for ``sub-01``.

    Returns
    -------
    list of BidsRun
        The runs, in the order of the names. What belongs to a run is searched beside its image, in the
        folders above and in ``sub-<subject>/func`` below these, by the rule of inheritance: all entities in
        the name of a file occur in the name of the image, and the most specific file counts.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    images = [image for part in sources for image in _images(Path(part))]
    wanted = {"sub": subject, "task": task, "space": space}
    for entity, value in wanted.items():
        if value is not None:
            value = value.removeprefix(f"{entity}-")
            found = {entities_of(image).get(entity) for image in images} - {None}
            images = [image for image in images if entities_of(image).get(entity) == value]
            if not images:
                raise broken(
                    sources[0], f"no image of {entity}-{value}", f"one of {', '.join(sorted(found))}"
                )
    if any(entities_of(image).get("desc") == "preproc" for image in images):
        images = [image for image in images if entities_of(image).get("desc") == "preproc"]
    for entity, option in (("sub", "subject"), ("task", "task"), ("space", "space")):
        values = sorted({entities_of(image).get(entity, "none") for image in images})
        if len(values) > 1:
            raise broken(sources[0], f"{entity} {', '.join(values)}", f"one of them, choose a {option}")
    return [_run(image) for image in images]


def entities_of(path: str | Path) -> dict[str, str]:
    """Return the entities of a BIDS name: ``{"sub": "01"}`` for ``sub-01_bold.nii.gz``."""
    parts = (part.partition("-") for part in Path(path).name.split("_")[:-1])
    return {key: value for key, dash, value in parts if dash}


def read_events(path: str | Path) -> pd.DataFrame:
    """Read a table of events: ``onset``, ``duration`` and ``trial_type``, separated by tabs."""
    import pandas as pd

    with reading(path, "a table of events with onset, duration and trial_type, separated by tabs"):
        table = pd.read_csv(require_file(path), sep="\t", dtype={"trial_type": str}, na_values=["n/a"])
        missing = [name for name in ("onset", "duration", "trial_type") if name not in table]
        if missing:
            raise ValueError(f"no column {missing[0]}")
        return table[["onset", "duration", "trial_type"]].dropna(subset="trial_type")


def _images(source: Path) -> list[Path]:
    if not is_folder(source):
        if not source.exists():
            raise broken(source, "no such file or folder", "an image, or a folder with *_bold.nii.gz")
        return [source]
    found = [image for ending in IMAGES for image in source.rglob(f"*_bold{ending}")]
    if not found:
        raise broken(source, "no file *_bold.nii.gz", "images with names as in BIDS")
    return sorted(found)


def _run(image: Path) -> BidsRun:
    sidecar = _belonging(image, "bold", (".json",))
    stated = None if sidecar is None else read_json(sidecar)
    time = stated.get("RepetitionTime") if isinstance(stated, Mapping) else None
    if time is not None and (isinstance(time, bool) or not isinstance(time, int | float) or not time > 0):
        raise broken(sidecar, f"RepetitionTime {time!r}", "a positive number of seconds")
    return BidsRun(
        image,
        _belonging(image, "events", (".tsv",)),
        None if time is None else float(time),
        _belonging(image, "mask", IMAGES, desc="brain"),
    )


def _belonging(image: Path, suffix: str, endings: Sequence[str], **other: str) -> Path | None:
    """Return the file of a suffix that belongs to an image; ``other`` entities differ from the image's."""
    entities = entities_of(image) | other
    if not entities.keys() - other.keys():  # not a name of BIDS
        return None
    for folder in _folders(image, entities):
        found = [
            path
            for ending in endings
            for path in folder.glob(f"*{suffix}{ending}")
            if path.name.removesuffix(ending).split("_")[-1] == suffix
            and entities_of(path).items() <= entities.items()
            and other.items() <= entities_of(path).items()
        ]
        if found:
            return max(sorted(found), key=lambda path: len(entities_of(path)))
    return None


def _folders(image: Path, entities: Mapping[str, str]) -> Iterator[Path]:
    below = [f"{entity}-{entities[entity]}" for entity in ("sub", "ses") if entity in entities]
    for folder in list(image.absolute().parents)[:_LEVELS]:
        yield folder.joinpath(*below, "func")
        yield folder
