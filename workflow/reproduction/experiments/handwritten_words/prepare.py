"""Take the words of the data set (rule prepare_words)."""

from reproduction.claims.results import read_json
from reproduction.datasets.letters import read_letters
from reproduction.experiments.handwritten_words.protocol import Words
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, words_per_fold: int | None) -> None:
    """Write the letters of all words, at most ``words_per_fold`` words of each fold."""
    letters = read_letters(read_json(inputs["receipt"])["folder"])
    Words.of(letters, words_per_fold).write(outputs["words"])


if "snakemake" in globals():
    run_stage(main, snakemake)
