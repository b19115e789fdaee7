"""The language of claims agrees with Python and numpy where it overlaps, and reaches nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.claims.expression import MissingValue, evaluate, names, parse
from reproduction.claims.uncertainty import estimate

VALUES = {"a": 1.5, "b": -2.0, "c": 0.25, "d": 3}


@st.composite
def arithmetic(draw, depth=3):
    """An expression for a number, as text."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([*VALUES, "0", "1", "2.5", "1e-3"]))
    template = draw(
        st.sampled_from(
            [
                "({} + {})",
                "({} - {})",
                "({} * {})",
                "({} / (abs({}) + 1))",
                "(-{})",
                "abs({})",
                "min({}, {}, {})",
                "max({}, {})",
            ]
        )
    )
    return template.format(*(draw(arithmetic(depth - 1)) for _ in range(template.count("{}"))))


@st.composite
def logic(draw, depth=2):
    """An expression for a truth value, as text."""
    if depth == 0 or draw(st.booleans()):
        signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
        sides = [draw(arithmetic()) for _ in range(draw(st.integers(2, 3)))]
        return sides[0] + "".join(f" {draw(signs)} {side}" for side in sides[1:])
    template = draw(st.sampled_from(["({} and {})", "({} or {} or {})", "(not ({}))"]))
    return template.format(*(draw(logic(depth - 1)) for _ in range(template.count("{}"))))


def run(text, values=VALUES):
    return evaluate(parse(text), estimate(values))[..., 0]


def python(text):
    return eval(text, {"__builtins__": {}, "abs": abs, "min": min, "max": max}, dict(VALUES))


@given(text=(arithmetic() | logic()).filter(lambda text: len(text) <= 600))
def test_agrees_with_python(text):
    expected, outcome = python(text), run(text)
    assert isinstance(expected, bool) == (np.asarray(outcome).dtype.kind == "b")
    assert outcome == expected


def test_powers():
    assert run("2 ** 3 ** 2 - (-2) ** 2 + d ** -1 * 3") == 2**9 - 4 + 1


LISTS = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*[st.lists(st.floats(-9, 9), min_size=n, max_size=n)] * 2)
)


@given(lists=LISTS)
def test_lists_count_element_by_element(lists):
    x, y = map(np.array, lists)
    values = {"x": lists[0], "y": lists[1]}
    np.testing.assert_array_equal(run("2 * x - y", values), 2 * x - y)
    np.testing.assert_array_equal(run("min(x, y)", values), np.minimum(x, y))
    assert run("max(x)", values) == max(lists[0])
    assert run("mean(x)", values) == pytest.approx(sum(lists[0]) / len(x))
    assert run("all(x < y)", values) == (x < y).all()
    assert run("any(-1 < x <= y)", values) == ((x > -1) & (x <= y)).any()
    assert run("x[-1] + y[0]", values) == x[-1] + y[0]
    np.testing.assert_array_equal(run("x[0:1]", values), x[:1])


def test_looks_into_mappings_and_tables():
    values = {"eer": {"chi2": [0.1, 0.2], "0.25": 7}, "table": [[1, 2], [3, 4]]}
    assert run("eer.chi2[1]", values) == 0.2
    assert run('eer["0.25"]', values) == 7
    assert run("all(table[0] < table[1])", values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z", "there is no 'z' in the results"),
        ("m.z", "there is no 'z' in m"),
        ("x[3]", "x has 3 elements"),
        ("x[1:9]", "x has 3 elements"),
        ("a > 0 or z > 0", "there is no 'z'"),
    ],
)
def test_missing_values_are_named(text, message):
    with pytest.raises(MissingValue, match=message):
        run(text, {"a": 1, "x": [1, 2, 3], "m": {"y": 1}})


@pytest.mark.parametrize(
    "text",
    [
        "x < 2 and a > 0",
        "not a",
        "a and a",
        "a / 0",
        "10.0 ** 400",
        "(-8) ** 0.5",
        "x + y",
        "x < y",
        "m + 1",
        "word + 1",
        "ragged + 1",
        "a[0]",
        "a.b",
        "x[0.5]",
        "x[0:2:2]",
        "all(x)",
        "mean(x, y)",
        "min(empty)",
        "'text'",
    ],
)
def test_nonsense_is_refused(text):
    values = {
        "a": 1,
        "x": [1, 2, 3],
        "y": [1, 2],
        "m": {"y": 1},
        "word": "w",
        "ragged": [[1], [1, 2]],
        "empty": [],
    }
    with pytest.raises(ValueError, match=r"."):
        run(text, values)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "a.__class__",
        "open('file')",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "{1: 2}",
        "[1, 2]",
        "f'{a}'",
        "a if a else b",
        "a := 1",
        "(a := 1)",
        "a; b",
        "import os",
        "eval('1')",
        "min(a, key=b)",
        "min(*a)",
        "a.min()",
        "max()",
        "True",
        "None",
        "1j",
        "b'1'",
        "a @ b",
        "a // b",
        "a % b",
        "a << 9",
        "a is b",
        "a in b",
        "await a",
        "yield a",
        "~a",
        "",
        "1 +",
        "a\0b",
        "(" * 250 + "a" + ")" * 250,
        "1" + " + 1" * 300,
    ],
)
def test_anything_beyond_the_language_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_huge_powers_end_at_once():
    with pytest.raises(ValueError, match="cannot be computed"):
        run("9 ** 9 ** 9 ** 9")


def test_names_are_those_of_results():
    assert names(parse("all(eer.ssvm[0:3] < max(limit, 2)) and timings.oracle.seconds < 1")) == {
        "eer",
        "limit",
        "timings.oracle",
    }
