"""Damaged files: every reader returns a sound object or raises a `DataError`, whatever is in the file.

``ERMLAB_FUZZ=5000 pytest tests/fuzz/test_readers.py`` tries more mutations of each data set, and
``ERMLAB_FUZZ_SEED`` others.
"""

import dataclasses
import json
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import tifffile
import yaml
from file_mutations import mutate
from harness import Cases, survive
from PIL import Image
from scipy import sparse

from ermlab._utils import files, image_files
from ermlab.exceptions import DataError
from ermlab.fmri.images import as_series, header_repetition_time
from ermlab.fmri.volumes import read_volume
from ermlab.kernels import read_tu
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.ctc import read_tracked_cells
from ermlab.tracking.ctc_films import read_annotation, read_frames
from ermlab.tracking.ctc_results import read_tracking
from ermlab.tracking.events import FEATURES
from ermlab.tracking.films import CellFilm
from reproduction.acquire.archive import unpack
from reproduction.acquire.registry import load_registry
from reproduction.acquire.treehash import tree_hash
from reproduction.claims.exhibits import load_exhibits
from reproduction.datasets import files as dataset_files
from reproduction.datasets.bold_files import read_regions, read_sidecar, read_tsv
from reproduction.datasets.cell_migration import FEATURES as COLUMNS
from reproduction.datasets.cell_migration import _read_detections
from reproduction.datasets.drive_vessels import read_drive_vessels
from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.datasets.kit_ais_cars import read_kit_ais_cars
from reproduction.datasets.letters import read_letters
from reproduction.datasets.mslr_5k import read_letor
from reproduction.datasets.snakes import COLORS, read_snakes
from reproduction.datasets.uiuc_cars import read_uiuc_cars
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts
from reproduction.experiments.own_fmri.prepare import OwnScan, read_targets

PROJECT = Path(__file__).parents[2]
MUTATIONS = int(os.environ.get("ERMLAB_FUZZ", "200"))
SEED = int(os.environ.get("ERMLAB_FUZZ_SEED", "0"))
RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (16, 12), dtype=np.uint8)
AFFINE = np.diag([3.0, 3, 3, 1])
LINEAGE = "1 0 1 0\n2 0 0 0\n3 1 1 2\n4 1 1 2\n"
EVENTS = pd.DataFrame({"onset": [0.0, 4], "duration": [2.0, 2], "trial_type": ["a", "b"]})


def write_images(folder: Path) -> None:
    for suffix in ("png", "gif", "pgm", "jpg"):
        Image.fromarray(PIXELS).save(folder / f"grey.{suffix}")
    for suffix in ("png", "jpg"):
        Image.fromarray(np.stack([PIXELS] * 3, axis=-1)).save(folder / f"colour.{suffix}")
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        Image.fromarray(PIXELS).save(folder / f"{compression}.tif", compression=compression)
    tifffile.imwrite(folder / "pages.tif", np.stack([PIXELS.astype(np.uint16)] * 3), photometric="minisblack")


def read_images(folder: Path) -> object:
    found = [dataset_files.image_size(path) for path in folder.iterdir()]
    found += [
        dataset_files.read_pages(folder / "pages.tif"),
        dataset_files.read_pgm_stack([folder / "grey.pgm"], PIXELS.shape),
    ]
    return found + [image_files.read_image(path) for path in sorted(folder.iterdir())]


def write_film(folder: Path) -> None:
    (folder / "masks").mkdir()
    for frame, labels in enumerate([[1, 2], [1, 3, 4]]):
        mask = np.zeros((8, 8), dtype=np.uint16)
        mask[0, : len(labels)] = labels
        tifffile.imwrite(folder / "masks" / f"man_track{frame:03d}.tif", mask)
        tifffile.imwrite(folder / "masks" / f"mask{frame:03d}.tif", mask)
        tifffile.imwrite(folder / f"t{frame:03d}.tif", mask + 7, compression=("deflate", None)[frame])
    (folder / "masks/man_track.txt").write_text(LINEAGE)
    (folder / "masks/res_track.txt").write_text(LINEAGE)


def read_film(folder: Path) -> object:
    frames = read_frames(folder)
    known, found = read_annotation(folder / "masks", frames), read_tracking(folder / "masks")
    truth = read_tracked_cells(folder / "masks")
    return [*frames, *known.masks, *found.masks, known.lineage, found.lineage, truth.lineage]


def write_brains(folder: Path) -> None:
    series = RNG.normal(100, 5, (3, 3, 2, 4)).astype(np.float32)
    regions = (series[..., 0] > 100).astype(np.int16)
    for name, data in (("a.nii", series), ("b.nii.gz", series), ("regions.nii.gz", regions)):
        image = nib.Nifti1Image(data, AFFINE)
        image.header.set_xyzt_units("mm", "sec")
        image.to_filename(folder / name)
    (folder / "older").mkdir()
    for number in (1, 2):
        image = nib.Spm2AnalyzeImage(series[..., 0], AFFINE * [-1, 1, 1, 1])
        image.to_filename(folder / f"older/con_{number}.img")
    for path in folder.glob("older/*.mat"):
        path.unlink()
    (folder / "Wager_2008_emotionreg_behavioral_data.txt").write_text("x y\n1 2\n3 4\n")


def read_brains(folder: Path) -> object:
    series = [read_volume(folder / name, ndim=4) for name in ("a.nii", "b.nii.gz")]
    images = [as_series(folder / name) for name in ("a.nii", "b.nii.gz")]
    times = [header_repetition_time(image) for image in images]
    regions = read_regions(folder / "regions.nii.gz")
    read_wager2008_contrasts(folder)  # whose maps may hold NaN
    return [volume.data for volume in series], times, np.asanyarray(regions.dataobj)


def write_haxby(folder: Path) -> None:
    image = nib.Nifti1Image(RNG.normal(100, 5, (3, 3, 1, 4)).astype(np.float32), np.eye(4))
    image.header.set_zooms((1, 1, 1, 2.5))
    image.to_filename(folder / "bold.nii.gz")
    nib.Nifti1Image(np.ones((3, 3, 1), dtype=np.uint8), np.eye(4)).to_filename(folder / "mask.nii.gz")
    (folder / "attributes_literal.txt").write_text("face 0\nrest 0\nhouse 1\nrest 1\n")


def write_tables(folder: Path) -> None:
    (folder / "float.txt").write_text("1.5 2\n3,4\n")
    (folder / "int.txt").write_text("1 2\n3 4\n")
    (folder / "letor.txt").write_text("1 qid:1 1:0.5 3:2 # a\n0 qid:2 2:1e-3\n")
    row = {
        "frame": 0,
        "label": 1,
        "centroid-0": 1.5,
        "centroid-1": 2,
        **dict.fromkeys(COLUMNS, 1.0),
        "track": 1,
    }
    pd.DataFrame([row, row | {"label": 2, "track": None}]).to_csv(folder / "regionprops.csv", index=False)
    EVENTS.to_csv(folder / "events.tsv", sep="\t", index=False)
    pd.DataFrame({"a": [0.0, 1, 0]}).to_csv(folder / "labels.tsv", sep="\t", index=False)


def read_tables(folder: Path) -> object:
    scan = {"bold": "a.nii", "repetition_time": 2.0, "target": "a"}
    return [
        files.read_table(folder / "float.txt"),
        files.read_table(folder / "int.txt", columns=2, dtype=int),
        read_letor(folder / "letor.txt", n_features=5),
        _read_detections(folder / "regionprops.csv"),
        read_tsv(folder / "events.tsv", list(EVENTS), numeric=("onset", "duration"))[["onset"]].to_numpy(),
        read_targets(OwnScan(**scan, events=str(folder / "events.tsv")), [4]),
        read_targets(OwnScan(**scan, labels=str(folder / "labels.tsv")), [3]),
    ]


def write_graphs(folder: Path) -> None:
    for name, text in {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": "1\n1\n2\n2\n",
        "graph_labels": "1\n-1\n",
        "node_labels": "0\n1\n0\n2\n",
        "edge_labels": "0\n0\n1\n1\n",
        "node_attributes": "0.5, 1\n1, 2\n2, 3\n3, 4\n",
    }.items():
        (folder / f"G_{name}.txt").write_text(text)


def write_cars(folder: Path) -> None:
    for place in ("TrainImages/pos-0", "TrainImages/neg-0", "TestImages/test-0", "TestImages_Scale/test-0"):
        path = folder / f"{place}.pgm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"P5\n100 40\n255\n" + bytes(4000))
    (folder / "trueLocations.txt").write_text("0: (1,2) (-3,4)\n")
    (folder / "trueLocations_Scale.txt").write_text("0: (1,2,50)\n")
    (folder / "aerial").mkdir()
    Image.fromarray(PIXELS).save(folder / "aerial/MOS1.png")
    (folder / "aerial/MOS1.txt").write_text("0 0.5 0.5 0.25 0.25\n1 0.1 0.1 0.1 0.1\n")


VOC = """<annotation><filename>a.jpg</filename><size><width>12</width><height>16</height></size>
<object><name>car</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>6</ymax>
</bndbox></object></annotation>"""


def write_photographs(folder: Path) -> None:
    (folder / "Annotations").mkdir()
    (folder / "JPEGImages").mkdir()
    (folder / "Annotations/a.xml").write_text(VOC)
    Image.fromarray(PIXELS).save(folder / "JPEGImages/a.jpg")


def write_retinas(folder: Path) -> None:
    for part, number in (("training", 21), ("test", 1)):
        masks = [f"mask/{number:02d}_{part}_mask.gif", f"1st_manual/{number:02d}_manual1.gif"]
        if part == "test":
            masks.append("2nd_manual/01_manual2.gif")
        for name in ("images", *masks):
            (folder / part / name.split("/")[0]).mkdir(parents=True)
        image = Image.fromarray(np.stack([PIXELS] * 3, axis=-1))
        image.save(folder / part / f"images/{number:02d}_{part}.tif", compression="tiff_lzw")
        for name in masks:
            Image.fromarray(np.where(PIXELS > 99, 255, 0).astype(np.uint8)).save(folder / part / name)


def write_documents(folder: Path) -> None:
    weights = {kind: dict.fromkeys(names, 0.5) for kind, names in FEATURES.items()}
    parameters = {
        "alpha": 1.0,
        "norm": "l2",
        "tol": 0.01,
        "gates": {"n_neighbors": 1},
        "detection": {"diameter": 7.0},
    }
    tracker = {"format": "ermlab cell tracker 1", "notes": "", "parameters": parameters, "weights": weights}
    (folder / "tracker.json").write_text(json.dumps(tracker))
    (folder / "bold.json").write_text(json.dumps({"RepetitionTime": 2.0, "SliceTiming": [0, 1.0]}))
    registry = yaml.safe_load((PROJECT / "data/registry.yaml").read_text())
    (folder / "registry.yaml").write_text(yaml.safe_dump({"uiuc_cars": registry["uiuc_cars"]}))
    exhibits = yaml.safe_load((PROJECT / "config/exhibits.yaml").read_text())
    first = {name: rows[:1] for name, rows in exhibits.items()}
    first["sections"][0]["part"] = first["parts"][0]["id"]
    first["exhibits"][0]["section"] = first["sections"][0]["id"]
    (folder / "exhibits.yaml").write_text(yaml.safe_dump(first))


def read_documents(folder: Path) -> object:
    schemas = PROJECT / "workflow/schemas"
    load_registry(folder / "registry.yaml", schemas / "registry.schema.yaml")
    load_exhibits(folder / "exhibits.yaml", schemas / "exhibits.schema.yaml")
    tracker = CellTracker.load(folder / "tracker.json")
    return tracker.coef_, tracker.alpha, tracker.tol, read_sidecar(folder / "bold.json")


def write_arrays(folder: Path) -> None:
    CellFilm(
        frame=np.array([0, 0, 1]),
        position=np.ones((3, 2)),
        area=np.ones(3),
        intensity=np.ones(3),
        eccentricity=np.zeros(3),
        shape=np.array([9, 9]),
        n_frames=2,
        tracks=np.array([[0, 1], [1, 2], [2, 1]]),
        lineage=np.array([[1, 0, 1, 0], [2, 0, 0, 0]]),
    ).write(folder / "film.npz")


def read_arrays(folder: Path) -> None:
    sound(CellFilm.read(folder / "film.npz"))  # in a file of arrays, numbers may be NaN


def write_archives(folder: Path) -> None:
    (folder / "content").mkdir()
    (folder / "content/a.txt").write_text("a" * 3000)
    for kind in ("gztar", "zip", "xztar"):
        shutil.make_archive(str(folder / kind), kind, folder / "content")


def read_archives(folder: Path) -> None:
    expected = tree_hash(folder / "content")
    for archive in sorted(folder.glob("*.*")):
        unpack(archive, folder / f"unpacked-{archive.stem}", {"": ""}, expected)
        shutil.rmtree(folder / f"unpacked-{archive.stem}")


def write_pickles(folder: Path) -> None:
    word = {"data": [np.ones((2, 128), dtype=np.uint8)], "labels": [np.array([0, 25])], "word": ["az"]}
    (folder / "letters.pickle").write_bytes(pickle.dumps({**word, "folds": np.array([9])}, protocol=3))
    labels = np.arange(11)[None]
    image = COLORS[np.minimum(labels, 4)]
    snakes = {"X_train": [image], "Y_train": [labels], "X_test": [image], "Y_test": [labels]}
    (folder / "snakes.pickle").write_bytes(pickle.dumps(snakes, protocol=3))


@dataclasses.dataclass(frozen=True)
class Data:
    """How a small valid data set is written and read."""

    write: Callable[[Path], None]
    read: Callable[[Path], object]
    damaged: str = "*"  #: pattern of the files that are damaged


DATA = {
    "images": Data(write_images, read_images),
    "film": Data(write_film, read_film, "*.tif"),
    "lineage": Data(write_film, read_film, "*.txt"),
    "brains": Data(write_brains, read_brains),
    "haxby": Data(write_haxby, read_haxby2001_slice),
    "tables": Data(write_tables, read_tables),
    "graphs": Data(write_graphs, lambda folder: read_tu(folder, "G")),
    "cars": Data(write_cars, lambda folder: (read_uiuc_cars(folder), read_kit_ais_cars(folder / "aerial"))),
    "photographs": Data(write_photographs, read_voc2007_sample),
    "retinas": Data(write_retinas, read_drive_vessels),
    "documents": Data(write_documents, read_documents),
    "arrays": Data(write_arrays, read_arrays),
    "pickles": Data(write_pickles, lambda folder: (read_letters(folder), read_snakes(folder))),
    "archives": Data(write_archives, read_archives, "*.[!t]*"),
}


def damaged(name: str) -> Cases:
    """Read a data set as it was written, and then with one damaged file at a time."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        DATA[name].write(folder)
        paths = sorted(path for path in folder.rglob(DATA[name].damaged) if path.is_file())
        yield f"{name}, valid", lambda: require_read(name, folder)
        for number in range(MUTATIONS):
            rng = np.random.default_rng([SEED, number])
            path = paths[number % len(paths)]
            valid = path.read_bytes()
            change, content = mutate(valid, path.suffix, rng)
            path.write_bytes(content)
            yield f"{name}, mutation {number}, {change} of {path.name}", lambda: read_or_refuse(name, folder)
            path.write_bytes(valid)


def require_read(name: str, folder: Path) -> object:
    try:
        return sound(DATA[name].read(folder))
    except ValueError as error:
        raise AssertionError("a valid data set was refused") from error


def read_or_refuse(name: str, folder: Path) -> object:
    """Return what was read; pass a proper `DataError` on, and turn any other one into an AssertionError."""
    try:
        return sound(DATA[name].read(folder))
    except ValueError as error:
        if fault := fault_of(error, [path.name for path in folder.rglob("*")]):
            raise AssertionError(f"{fault}: {error}") from error
        raise


def fault_of(error: ValueError, names: list[str]) -> str | None:
    """Return what is wrong with an error, None for a proper one."""
    if not isinstance(error, DataError):
        return "a ValueError that is no DataError"
    if not any(name in str(error) for name in names):
        return "an error that names no file"
    if "MemoryError" in str(error):
        return "more was allocated than the file can hold"
    return "more than one line" if "\n" in str(error) else None


def sound(found: object) -> object:
    """Return an object with arrays of plain types alone: integers that do not fit make arrays of objects."""
    if isinstance(found, np.ndarray):
        assert found.dtype.kind in "biufU", f"an array of {found.dtype}"
    elif isinstance(found, image_files.ImageFiles):
        sound(list(found))
    elif isinstance(found, Mapping | list | tuple):
        for value in found.values() if isinstance(found, Mapping) else found:
            sound(value)
    elif dataclasses.is_dataclass(found):
        sound(vars(found))
    elif sparse.issparse(found):
        sound(found.data)
    return found


def of(*names: str) -> Callable[[], Cases]:
    return lambda: (case for name in names for case in damaged(name))


SUBJECTS = {
    "pixels": of("images", "film", "brains", "haxby", "retinas"),
    "text": of("lineage", "tables", "graphs", "cars", "photographs", "documents", "arrays", "archives"),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
