"""Bags of words of one split of the newsgroups (rule prepare_text_bags)."""

from collections.abc import Mapping

from reproduction.claims.results import read_json
from reproduction.datasets.newsgroups20 import read_newsgroups20
from reproduction.experiments.text_taxonomy.protocol import draw_bags
from reproduction.pipeline.job import job


def main(receipt: str, bags: str, *, split: int, seed: int, posts: Mapping[str, int], min_posts: int) -> None:
    """Draw the posts and count their words; the vocabulary is that of the training part."""
    data = read_newsgroups20(read_json(receipt)["folder"])
    draw_bags(data, posts, [seed, split], min_posts).write(bags)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.bags,
            split=int(snakemake.wildcards.split),
            **snakemake.params.arguments,
        )
