from itertools import pairwise

import pytest

from ermlab.exceptions import DataError
from reproduction.pipeline.documents import read_document, read_yaml, validate


def test_broken_yaml_is_reported_with_its_line(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("a: 1\nb: [1, 2\n")
    with pytest.raises(DataError, match=r"broken\.yaml, line 3: not valid YAML") as caught:
        read_yaml(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="is not there"):
        read_yaml(tmp_path / "missing.yaml")


def test_yaml_objects_are_refused(tmp_path):
    path = tmp_path / "evil.yaml"
    path.write_text("!!python/object/apply:os.getcwd []\n")
    with pytest.raises(DataError, match="not valid YAML"):
        read_yaml(path)


def test_aliases_are_read(tmp_path):
    path = tmp_path / "aliases.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    assert read_yaml(path) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def _chain(first: str, pattern: str) -> str:
    """Return nine anchors, each of which refers to the one before ten times."""
    links = (
        f"{name}: &{name} {pattern.format(', '.join([f'*{before}'] * 10))}"
        for before, name in pairwise("abcdefghij")
    )
    return "\n".join([f"a: &a {first}", *links])


@pytest.mark.parametrize(
    "text",
    [_chain("[x]", "[{}]"), _chain("{x: 1}", "{{<<: [{}]}}"), "a: &a [1, *a]"],
    ids=["sequences", "merged mappings", "a collection inside itself"],
)
def test_aliases_that_expand_to_too_much_are_refused(tmp_path, text):
    path = tmp_path / "bomb.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"bomb\.yaml, line \d+: not valid YAML: aliases that expand to"):
        read_yaml(path)


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "deep.yaml"
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(DataError, match="nested too deeply"):
        read_yaml(path)


def test_a_valid_document_passes():
    validate({"a": 1}, {"type": "object"}, "document")


def test_a_row_is_named_by_its_id():
    schema = {"properties": {"rows": {"items": {"properties": {"size": {"type": "integer"}}}}}}
    document = {"rows": [{"id": "first", "size": 1}, {"id": "second", "size": "big"}]}
    with pytest.raises(DataError) as caught:
        validate(document, schema, "rows.yaml")
    assert str(caught.value) == "rows.yaml: rows second size: 'big' is not of type 'integer'"


def test_the_schema_is_found_by_the_name_of_the_document(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "workflow/schemas").mkdir(parents=True)
    (tmp_path / "workflow/schemas/list.schema.yaml").write_text("type: array")
    (tmp_path / "config/list.yaml").write_text("[1, 2]")
    assert read_document(tmp_path / "config/list.yaml") == [1, 2]
    (tmp_path / "config/list.yaml").write_text("a: 1")
    with pytest.raises(DataError, match="is not of type 'array'"):
        read_document(tmp_path / "config/list.yaml")
