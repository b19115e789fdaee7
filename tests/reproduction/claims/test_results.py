"""Results come back as they were written, byte for byte, and damaged files say what to do."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.exceptions import DataError
from reproduction.claims.results import read_json, read_results, repeated, write_json, write_results

DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_numpy_values_come_back_plain(tmp_path):
    values = {
        "count": np.int64(3),
        "rate": np.float32(0.5),
        "holds": np.bool_(True),
        "curve": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "nested": {"pair": (1, 2), 7: "seven"},
        "repeated": repeated(np.array([1, 2])),
    }
    write_results(
        tmp_path / "cars", values, datasets={"uiuc_cars": "real"}, timings={"seconds": np.float64(0.1)}
    )
    assert read_results(tmp_path / "cars") == {
        "experiment": "cars",
        "datasets": {"uiuc_cars": "real"},
        "settings": {},
        "values": {
            "count": 3,
            "rate": 0.5,
            "holds": True,
            "curve": [[1.0, 2.0], [3.0, 4.0]],
            "nested": {"pair": [1, 2], "7": "seven"},
            "repeated": {"repeats": [1.0, 2.0]},
        },
        "timings": {"seconds": 0.1},
    }


def test_seconds_stay_out_of_the_values(tmp_path):
    for seconds in (1.0, 2.0):
        write_results(tmp_path / str(seconds) / "cars", {"x": 1}, timings={"seconds": seconds})
    first, second = (tmp_path / folder / "cars/values.json" for folder in ("1.0", "2.0"))
    assert first.read_bytes() == second.read_bytes()


def test_no_data_and_no_timings(tmp_path):
    write_results(tmp_path / "bounds", {"x": 1})
    assert read_results(tmp_path / "bounds") == {
        "experiment": "bounds",
        "datasets": {},
        "settings": {},
        "values": {"x": 1},
        "timings": {},
    }
    assert not (tmp_path / "bounds/timings.json").exists()


@given(document=DOCUMENTS)
def test_json_round_trip(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "document.json"
    write_json(path, document)
    assert read_json(path) == document


def test_same_document_same_bytes(tmp_path):
    write_json(tmp_path / "one.json", {"b": 1, "a": [0.1, 1e-300]})
    write_json(tmp_path / "two.json", {"a": [0.1, 1e-300], "b": 1})
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": float("nan")}, "values.x is nan"),
        ({"x": {"y": [1, np.inf]}}, r"values.x.y\[1\] is inf"),
        ({"x": np.array([1.0, np.nan])}, r"values.x\[1\] is nan"),
        ({"x": {1, 2}}, "values.x is a set"),
        ({"x": 1j}, "values.x is a complex"),
    ],
)
def test_values_that_json_cannot_hold_are_named(tmp_path, values, message):
    with pytest.raises(ValueError, match=message):
        write_results(tmp_path / "cars", values)
    assert not (tmp_path / "cars/values.json").exists()


def test_unknown_kinds_of_data_are_refused(tmp_path):
    with pytest.raises(ValueError, match="data set 'cars' is 'fake': expected 'real' or 'simulated'"):
        write_results(tmp_path / "cars", {}, datasets={"cars": "fake"})


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "document.json"
    write_json(path, {"x": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"x": float("nan")})
    assert read_json(path) == {"x": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b'{"x": 1', b"\xff\xfe", b"9" * 5000, b"[" * 100_000])
def test_damaged_files_say_what_to_do(tmp_path, content):
    (tmp_path / "values.json").write_bytes(content)
    with pytest.raises(DataError, match=r"values\.json is damaged .*: delete it and run `make` again"):
        read_results(tmp_path)


def test_missing_files_say_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"values\.json does not exist: run `make`"):
        read_results(tmp_path)


def test_files_are_plain_json(tmp_path):
    write_results(tmp_path / "cars", {"name": "Zürich"})
    text = (tmp_path / "cars/values.json").read_text(encoding="utf-8")
    assert "Zürich" in text
    assert json.loads(text)["values"] == {"name": "Zürich"}
