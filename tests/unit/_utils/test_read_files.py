"""The shared reading functions: what is read is right, what is broken is named."""

import os

import numpy as np
import pytest

from ermlab._utils import files
from ermlab.exceptions import DataError


def test_files_are_ordered_by_number(tmp_path):
    for number in (10, 9, 100):
        (tmp_path / f"test-{number}.pgm").touch()
    assert [path.name for path in files.list_files(tmp_path, "*.pgm")] == [
        "test-9.pgm",
        "test-10.pgm",
        "test-100.pgm",
    ]


def test_a_gap_in_a_series_is_named(tmp_path):
    for number in (0, 1, 3):
        (tmp_path / f"t{number}.tif").touch()
    with pytest.raises(DataError, match=r"t3\.tif; expected number 2"):
        files.list_series(tmp_path, "t*.tif")


def test_missing_folder_and_empty_folder(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: no such folder; run `make`"):
        files.list_files(tmp_path / "nowhere", "*")
    with pytest.raises(DataError, match=r"no file \*\.png; expected at least one"):
        files.list_files(tmp_path, "*.png")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", "line 2: '3' .*; expected 2 finite float values per row"),
        ("1 2\n\n3 x\n", "line 3: '3 x'"),
        ("1 nan\n", "line 1: .*not finite"),
        ("1 inf\n", "line 1: .*not finite"),
        ("\n \n", "the file is empty"),
    ],
)
def test_broken_tables_name_the_line(tmp_path, text, message):
    path = tmp_path / "table.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        files.read_table(path, columns=2)


def test_tables_by_comma_or_blank_below_a_header(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("name, other\n1, 2\n3\t4\n\n5 6")
    np.testing.assert_array_equal(
        files.read_table(path, columns=2, dtype=int, header=1), [[1, 2], [3, 4], [5, 6]]
    )


def test_text_of_another_encoding(tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes(b"1 \xff")
    with pytest.raises(DataError, match=r"table\.txt: byte 2 is not utf-8"):
        files.read_table(path)


@pytest.mark.parametrize(
    "text", ["9" * 30, "9" * 5000, "-" + "9" * 30, "1.5", "x", "nan", "\N{ARABIC-INDIC DIGIT THREE} x", ","]
)
def test_tables_of_integers_hold_integers_of_64_bits(tmp_path, text):
    path = tmp_path / "table.txt"
    path.write_text(f"1\n{text}\n")
    with pytest.raises(DataError, match=r"table\.txt, line 2: "):
        files.read_table(path, columns=1, dtype=int)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', ", line 1: Expecting value"),
        ("[" * 100_000, ": maximum recursion"),
        ("9" * 5000, ": .*4300 digits"),
    ],
)
def test_broken_json(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"a\.json{message}.*; expected valid JSON"):
        files.read_json(path)


def test_any_exception_of_a_format_library_becomes_a_data_error_that_names_the_file(tmp_path):
    path = tmp_path / "a.bin"
    for error in (OverflowError("too large"), TypeError("no"), RecursionError(), MemoryError(), KeyError(1)):
        message = rf"a\.bin: {type(error).__name__}.*; expected a file"
        with pytest.raises(DataError, match=message), files.reading(path, "a file"):
            raise error
    with pytest.raises(KeyboardInterrupt), files.reading(tmp_path / "a.bin", "a file"):
        raise KeyboardInterrupt


def test_a_name_that_no_folder_can_have_is_an_error_of_data():
    with pytest.raises(DataError, match="File name too long"):
        files.require_folder(300 * "a")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(DataError, match="a pipe or a device; expected"):
            files.read_bytes(tmp_path / name)


def test_underscores_are_not_part_of_numbers(tmp_path):
    (tmp_path / "table.txt").write_text("1 2\n1_0 2\n")
    with pytest.raises(DataError, match=r"line 2: '1_0 2' \(an underscore\)"):
        files.read_table(tmp_path / "table.txt", dtype=int)
