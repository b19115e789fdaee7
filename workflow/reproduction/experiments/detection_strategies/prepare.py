"""Training and test images as visual words on dense grids (rule prepare_detection_words)."""

from ermlab.detection.box_words import halve_images
from ermlab.detection.word_grids import learn_words, save_word_grids, word_grid
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.pipeline.job import job

#: SURF windows of 20 and 40 pixels: parts of objects from a seventh of the image's height down.
SCALES = (1.0, 2.0)
#: Descriptors that the vocabulary is learned from.
SAMPLE = 50_000
#: ITU-R BT.601: how bright red, green and blue are.
LUMINANCE = (0.299, 0.587, 0.114)


def main(receipt: str, words: str, split: str, seed: int, images: int, n_words: int, step: int) -> None:
    """Learn the words on training images, name those of all images, and write down who is who."""
    data = read_voc2007_sample(read_json(receipt)["folder"])
    used = min(images, len(data.images))
    halves = dict(zip(("train", "test"), halve_images(data.labels[:used]), strict=True))
    grey = {name: [data.images[i] @ LUMINANCE for i in numbers] for name, numbers in halves.items()}
    vocabulary = learn_words(
        grey["train"], n_words=n_words, step=step, scales=SCALES, max_samples=SAMPLE, random_state=seed
    )
    grids = {
        name: [word_grid(image, vocabulary, step=step, scales=SCALES) for image in part]
        for name, part in grey.items()
    }
    save_word_grids(words, grids)
    write_json(split, {name: numbers.tolist() for name, numbers in halves.items()} | {"words": n_words})


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.words,
            snakemake.output.split,
            snakemake.params.seed,
            snakemake.params.images,
            snakemake.params.words,
            snakemake.params.step,
        )
