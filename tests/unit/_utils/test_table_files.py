"""Tables with named columns: what is read, and broken input."""

import numpy as np
import pytest

from ermlab._utils.table_files import TableFile
from ermlab.exceptions import DataError


def table(tmp_path, text, name="table.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return TableFile(tmp_path / name)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    read = table(tmp_path, "\ufeffa, b\n1,2.5\n-3e2,0\n")
    assert read.names == ["a", "b"]
    np.testing.assert_array_equal(read.numbers(["a"]), [[1], [-300]])


def test_quotes_tabs_and_single_rows(tmp_path):
    read = table(tmp_path, 'a,"b, c",name\n1,2.5,"x, y"\n-3e2,0,#z\n')
    assert read.names == ["a", "b, c", "name"]
    np.testing.assert_array_equal(read.numbers(["b, c", "a"]), [[2.5, 1], [0, -300]])
    assert read.text("name").tolist() == ["x, y", "#z"]
    read = table(tmp_path, "a\tb\n1\tx y\n", "table.tsv")
    assert read.numbers(["a"]).tolist() == [[1]]
    assert read.text("b").tolist() == ["x y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,a\n1,2\n", "the column 'a' twice"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n", "table.csv"),
        ("a,b\n1,x\n", "could not convert string 'x'"),
        ("a,b\n1,inf\n", "row 1, column 'b': inf; expected a finite number"),
        ("a,b\n1,\n", "could not convert string ''"),
        ("b,c\n1,2\n", "no column 'a' among b, c; expected the column 'a'"),
    ],
)
def test_broken_tables(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        table(tmp_path, text).numbers(["a", "b"])


def test_files_that_are_no_text(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not utf-8"):
        TableFile(tmp_path / "x.csv")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"x\.parquet"):
        TableFile(tmp_path / "x.parquet")
    with pytest.raises(DataError, match="No such file"):
        TableFile(tmp_path / "absent.csv")
