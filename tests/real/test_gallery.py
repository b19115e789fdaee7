"""Each picture of the data page, drawn from the real data."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from ermlab.datasets.registry import acquire, load_registry
from ermlab.plotting.gallery import DRAW
from PIL import Image

REGISTRY = load_registry(Path(__file__).parents[2] / "data/registry.yaml")


@pytest.fixture(scope="session")
def acquired(mirror, tmp_path_factory):
    """A function that returns the folder of a data set, acquired once for all tests."""
    raw = tmp_path_factory.getbasetemp() / "raw"

    def folder(name):
        acquire(name, raw, policy="real", mirror=mirror, registry=REGISTRY)
        return raw / name

    yield folder
    shutil.rmtree(raw, ignore_errors=True)  # a quarter of a gigabyte, which pytest would keep


def test_every_data_set_has_a_picture():
    assert set(DRAW) == set(REGISTRY)


@pytest.mark.parametrize("name", DRAW)
def test_picture(name, acquired):
    figure = DRAW[name](acquired(name))
    png = io.BytesIO()
    figure.savefig(png, dpi=60)
    pixels = np.asarray(Image.open(png).convert("L"))
    assert pixels.shape[1] == 8 * 60
    assert pixels.std() > 10  # not a blank page
    assert all(ax.has_data() or ax.texts for ax in figure.axes if ax.axison)
