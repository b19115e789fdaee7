import pytest

from ermlab.exceptions import DataError
from reproduction.pipeline.config import load_config

SCHEMA = """
type: object
additionalProperties: false
required: [scale, size]
properties:
  scale: {type: string, default: small}
  size: {type: integer, minimum: 1, description: how many samples}
  model:
    type: object
    additionalProperties: false
    properties:
      C: {type: number, default: 1.5}
      kernel: {enum: [linear, chi2], default: linear}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "workflow/schemas").mkdir(parents=True)
    (tmp_path / "workflow/schemas/config.schema.yaml").write_text(SCHEMA)
    (tmp_path / "config/scale").mkdir(parents=True)
    (tmp_path / "config/scale/small.yaml").write_text("size: 3\n")
    (tmp_path / "config/scale/large.yaml").write_text("size: 300\nmodel: {C: 10}\n")
    return tmp_path


def test_defaults_scale_and_config_in_rising_order(project):
    assert load_config({}, project) == {
        "scale": "small",
        "size": 3,
        "model": {"C": 1.5, "kernel": "linear"},
    }
    config = load_config({"scale": "large", "model": {"kernel": "chi2"}}, project)
    assert config == {"scale": "large", "size": 300, "model": {"C": 10, "kernel": "chi2"}}
    assert load_config({"scale": "large", "size": 7}, project)["size"] == 7


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"scale": "huge"}, "config: scale is 'huge': expected one of large, small"),
        ({"scales": "small"}, "config: scales is not a known key: did you mean scale?"),
        ({"model": {"nu": 1}}, "config: model: nu is not a known key: known keys are C, kernel"),
        ({"size": 0}, "config: size: 0 is less than the minimum of 1 (how many samples)"),
        ({"size": "many"}, "config: size: 'many' is not of type 'integer' (how many samples)"),
        ({"model": {"kernel": "rbf"}}, "config: model kernel: 'rbf' is not one of ['linear', 'chi2']"),
    ],
)
def test_a_wrong_key_or_value_is_reported_in_one_line(project, config, message):
    with pytest.raises(DataError) as caught:
        load_config(config, project)
    assert str(caught.value) == message
