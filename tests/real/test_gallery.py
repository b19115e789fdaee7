"""Each picture of the data page, drawn from the real data."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reproduction.acquire.registry import load_registry
from reproduction.gallery.pictures import DRAW

REGISTRY = load_registry(Path(__file__).parents[2] / "data/registry.yaml")


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
