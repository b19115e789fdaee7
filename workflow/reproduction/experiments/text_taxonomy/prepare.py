"""Draw one split of the newsgroups as bags of words (rule prepare_text_bags)."""

from collections.abc import Mapping

from reproduction.claims.results import read_json
from reproduction.datasets.newsgroups20 import read_newsgroups20
from reproduction.experiments.text_taxonomy.protocol import draw_bags
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, split: int, seed: int, posts: Mapping[str, int], min_posts: int
) -> None:
    """Draw the posts and count their words; the vocabulary is that of the training part."""
    data = read_newsgroups20(read_json(inputs["receipt"])["folder"])
    draw_bags(data, posts, [seed, split], min_posts).write(outputs["bags"])


if "snakemake" in globals():
    run_stage(main, snakemake)
