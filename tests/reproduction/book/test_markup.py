"""Text survives MyST as it is, whatever it holds; numbers, durations and sizes read well."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from ermlab.exceptions import DataError
from reproduction.book import markup

EXTENSIONS = {"amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"}
PARSER = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)

# The characters that mean something to MyST come often.
MEANINGFUL = st.sampled_from(list("\\`*_{}[]()#+-.!|~^@:<>&%=$'\"/1 a"))
VISIBLE = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
ANY_TEXT = st.text(st.one_of(MEANINGFUL, VISIBLE), max_size=30)
PLAIN = ANY_TEXT.filter(lambda text: "$" not in text and "`" not in text)


def shown(source):
    """What a reader sees of MyST source."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", PARSER.render(source))).split())


STARTS = ("%", "1.", "-", "+", "+++", "#", ">", "(a)=", ":::", ":", "~", "|", "{a}", "[a]:")
SPANS = ("*b*", "__b__", "<b>x</b>", "&lt;", "[a](b)", "![a](b)", "<https://example.org>", "[a]{.b}", "\\*")


@pytest.mark.parametrize("plain", [f"{start} word" for start in STARTS] + [f"a {span} c" for span in SPANS])
def test_what_myst_would_take_for_markup_is_text(plain):
    assert shown(markup.text(plain)) == plain


@given(PLAIN)
def test_plain_text_is_shown_as_it_is(plain):
    assert shown(markup.text(plain)) == " ".join(plain.split())


@given(PLAIN, PLAIN)
def test_cells_of_a_table_are_shown_as_they_are(first, second):
    table = markup.table(["One", "Two"], [[markup.text(first), markup.text(second)]])
    assert shown(table) == " ".join(f"One Two {first} {second}".split())


@given(ANY_TEXT)
def test_text_is_one_line_and_opens_no_tag(anything):
    assert "\n" not in markup.text(anything)
    rendered = PARSER.render(markup.text(anything))
    assert set(re.findall(r"</?(\w+)", rendered)) <= {"p", "code", "span", "eq", "eqn", "section"}


def test_mathematics_and_code_stay():
    assert markup.text("a_b $x_1 < y$ `c_d`") == r"a\_b $x_1 < y$ <code>c_d</code>"


def test_a_bar_in_mathematics_does_not_end_a_cell():
    assert markup.text("$|x|$") == r"$\vert x\vert $"


def test_a_lone_dollar_is_a_dollar():
    assert shown(markup.text("5 $ and no more")) == "5 $ and no more"


def test_html_text_closes_no_attribute():
    assert markup.html_text('a"b<c>\nd') == "a&quot;b&lt;c&gt; d"


def test_a_table_refuses_a_row_of_another_length():
    with pytest.raises(ValueError, match="a table row has 1 cells"):
        markup.table(["One", "Two"], [["alone"]])


def test_table_classes_reach_the_style_sheet():
    assert markup.table(["One"], [["1"]], "claims").startswith("{.claims}\n| One |")


@pytest.mark.parametrize("status", markup.STATUS_SIGNS)
def test_a_status_has_a_sign_a_word_and_a_class(status):
    badge = markup.status_badge(status, 3)
    assert markup.STATUS_SIGNS[status] in badge
    assert f"3 {status}" in badge
    assert f'class="badge {status.replace(" ", "-")}"' in badge


def test_signs_differ_so_that_colour_is_not_needed():
    assert len(set(markup.STATUS_SIGNS.values())) == len(markup.STATUS_SIGNS)
    assert len(set(markup.DATA_SIGNS.values())) == len(markup.DATA_SIGNS)


def test_unknown_badges_are_refused():
    with pytest.raises(DataError, match="'maybe'"):
        markup.status_badge("maybe")
    with pytest.raises(DataError, match="'borrowed data'"):
        markup.data_badge("borrowed data")


def test_a_data_badge_names_its_data_sets():
    assert "uiuc\\_cars, flowers17" in markup.data_badge("real data", ["uiuc_cars", "flowers17"])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (-0.123456, "−0.1235"),
        (1e-9, "1e−09"),
        ([1.0, 2.5], "1, 2.5"),
        ({"a": 1, "b": [2.0]}, "a: 1; b: 2"),
        ("a-b", "a-b"),
    ],
)
def test_numbers(value, words):
    assert markup.number(value) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (245, "4 min 05 s"),
        (3599.7, "1 h 00 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations(seconds, words):
    assert markup.duration(seconds) == words


def test_a_negative_duration_is_refused():
    with pytest.raises(ValueError, match="-1"):
        markup.duration(-1)


@pytest.mark.parametrize(
    ("count", "words"),
    [(999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (3.4e6, "3.4 MB"), (5e12, "5000.0 GB")],
)
def test_sizes(count, words):
    assert markup.size(count) == words
