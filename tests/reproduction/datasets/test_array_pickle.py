"""Pickles of arrays are read as `pickle` reads them, and nothing else is."""

import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ermlab.exceptions import DataError
from reproduction.datasets.array_pickle import read_array_pickle

NUMERIC = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(),
    npst.unsigned_integer_dtypes(),
    npst.floating_dtypes(sizes=(32, 64)),
)
ARRAYS = npst.arrays(NUMERIC, npst.array_shapes(min_dims=0, min_side=0, max_side=4))
LEAVES = st.one_of(ARRAYS, st.integers(-(2**63), 2**63), st.floats(allow_nan=False), st.text(), st.none())
CONTENT = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner)
)


def equal(one, other):
    if isinstance(one, np.ndarray):
        same = isinstance(other, np.ndarray) and one.dtype == other.dtype.newbyteorder("=")
        return same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


@given(content=CONTENT, protocol=st.just(3))
def test_content_is_what_pickle_reads(tmp_path_factory, content, protocol):
    path = tmp_path_factory.getbasetemp() / "content.pickle"
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    assert equal(read_array_pickle(path), content)


@pytest.fixture
def write(tmp_path):
    def write(data):
        path = tmp_path / "a.pickle"
        path.write_bytes(data)
        return path

    return write


def test_python_2_wrote_texts_and_arrays_as_bytes(write):
    """The array [1, 2] and a text as cPickle of Python 2 wrote them, with a byte above 127."""
    data = (
        b"\x80\x02}q\x01(U\x01wq\x02U\x01\xe9U\x01xq\x03cnumpy.core.multiarray\n_reconstruct\nq\x04cnumpy\nndarray\n"
        b"q\x05K\x00\x85U\x01b\x87Rq\x06(K\x01K\x02\x85cnumpy\ndtype\nq\x07U\x02i2K\x00K\x01\x87Rq\x08(K\x03U\x01<"
        b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x04\x01\x00\x02\x00tbu."
    )
    content = read_array_pickle(write(data))
    assert content["w"] == "é"
    assert content["x"].tolist() == [1, 2]
    assert content["x"].dtype == np.int16
    assert equal(content, pickle.loads(data, encoding="latin1"))


def test_an_array_that_occurs_twice(write):
    array = np.arange(3)
    content = read_array_pickle(write(pickle.dumps([array, array, np.arange(4.0)], protocol=3)))
    assert content[0] is content[1]
    assert content[2].tolist() == [0, 1, 2, 3]


class Malicious:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Malicious(), "the name '(posix|nt) system'"),
        ([np.arange(2), Malicious()], "the name"),
        (Fraction(1, 2), "the name 'fractions Fraction'"),
        (np.array([1, "a"], dtype=object), "arrays of the type 'O8'"),
        (np.array(["text"]), "arrays of the type 'U4'"),
        (np.zeros(2, dtype=[("a", "i4")]), "arrays of the type 'V4'"),
        (np.zeros(2, dtype="M8[s]"), "arrays of the type 'M8'"),
        (np.float64(1), "the name 'numpy._core.multiarray scalar'"),
        ({1: 2}, "a int instead of a text"),
        ({1, 2}, "the name '.*set'"),
    ],
)
def test_other_content_is_refused(write, tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"a\.pickle: .*{message}.*; expected a pickle of numeric arrays"):
        read_array_pickle(write(pickle.dumps(content, protocol=3)))
    assert not (tmp_path / "ran").exists()


def test_numpy_functions_are_never_called(write):
    """The state of an array promises a terabyte: nothing is allocated."""
    data = pickle.dumps(np.zeros(3, dtype=np.uint8), protocol=3)
    huge = data.replace(b"K\x03\x85", b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85")
    assert huge != data
    with pytest.raises(DataError, match=r"shape \(1099511627776,\) with other than its number of bytes"):
        read_array_pickle(write(huge))
    call = b"\x80\x03cnumpy\nndarray\nK\x05\x85R."
    with pytest.raises(DataError, match="a call of anything but an array"):
        read_array_pickle(write(call))


VALID = pickle.dumps({"x": [np.arange(6.0).reshape(2, 3)]}, protocol=3)


@pytest.mark.parametrize("length", range(0, len(VALID), 3))
def test_truncated(write, length):
    with pytest.raises(DataError, match=r"a\.pickle: .*; expected a pickle of numeric arrays"):
        read_array_pickle(write(VALID[:length]))


@pytest.mark.parametrize(
    "data",
    [
        b".",  # nothing on the stack
        b"K\x01K\x02.",  # two results
        b"\x85.",  # a tuple of what is not there
        b"(\x85.",  # nor behind the mark
        b"h\x00.",  # a memo that is not there
        b"q\x00.",  # nothing to put into it
        b"t.",  # no mark
        b"K\x01K\x02a.",  # append to a number
        b"}(K\x01u.",  # a key without a value
        b"K\x01b.",  # nothing to build
        b"cnumpy\ndtype\n)R.",  # a data type without a name
        b"r\xff\xff\xff\xff.",  # a huge index of the memo
        b"X\xff\xff\xff\x7fabc.",  # a text longer than the file
    ],
)
def test_instructions_without_sense(write, data):
    with pytest.raises(DataError, match=r"a\.pickle: .*; expected a pickle of numeric arrays"):
        read_array_pickle(write(b"\x80\x03" + data))


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read_array_pickle(tmp_path / "none.pickle")
