"""Boxes of images from tables and from XML files of PASCAL VOC."""

import numpy as np
import pytest

from ermlab.detection import boxes_of, read_boxes
from ermlab.exceptions import DataError

OBJECT = (
    "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax>"
    "</bndbox></object>"
)


def test_tables(tmp_path):
    path = tmp_path / "boxes.csv"
    path.write_text("label,x0,image,y0,x1,y1\ncat,1,b.png,2,3,4\ndog,0,a.png,0,9.6,5\ncat,5,b.png,5,6,7\n")
    found = read_boxes(path)
    assert found["a.png"].tolist() == [[0, 0, 10, 5]]
    assert found["b.png"].tolist() == [[1, 2, 3, 4], [5, 5, 6, 7]]
    cats = read_boxes(path, "cat")
    assert len(cats["a.png"]) == 0
    assert len(cats["b.png"]) == 2
    with pytest.raises(DataError, match="no box of 'cow'"):
        read_boxes(path, "cow")


def test_folders_of_xml_files(tmp_path):
    objects = OBJECT.format("cat", 1, 1, 10, 20) + OBJECT.format("dog", 2.4, 3, 4, 5)
    (tmp_path / "a.xml").write_text(f"<annotation><filename>a.jpg</filename>{objects}</annotation>")
    (tmp_path / "b.xml").write_text("<annotation></annotation>")
    found = read_boxes(tmp_path)
    assert found["a.jpg"].tolist() == [[0, 0, 9, 19], [1, 2, 3, 4]]
    assert found["b"].tolist() == []
    assert read_boxes(tmp_path, "dog")["a.jpg"].tolist() == [[1, 2, 3, 4]]
    named = boxes_of(["a.png", "b.png", "c.png"], found)
    assert [len(boxes) for boxes in named] == [2, 0, 0]
    assert all(boxes.shape[1] == 4 and boxes.dtype == np.int64 for boxes in named)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.xml: "),
        ("<annotation>", "a.xml: "),
        ('<!DOCTYPE x [<!ENTITY e "e">]><annotation/>', "a document type"),
        ("<annotation><object><name>cat</name></object></annotation>", "a.xml: AttributeError"),
        (f"<annotation>{OBJECT.format('cat', 'one', 1, 2, 2)}</annotation>", "could not convert"),
        (f"<annotation>{OBJECT.format('cat', 'nan', 1, 2, 2)}</annotation>", "a side that is not finite"),
        (f"<annotation>{OBJECT.format('cat', 5, 1, 2, 2)}</annotation>", "expected x0 <= x1"),
        ("<annotation></annotation>", "no box"),
    ],
)
def test_broken_xml(tmp_path, text, message):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(DataError, match=message):
        read_boxes(tmp_path)


def test_folders_without_files(tmp_path):
    with pytest.raises(DataError, match=r"no file \*\.xml"):
        read_boxes(tmp_path)
    with pytest.raises(DataError, match="No such file"):
        read_boxes(tmp_path / "absent.csv")
