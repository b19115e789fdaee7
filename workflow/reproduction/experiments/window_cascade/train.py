"""All variants of ranking and the structured output SVM on one split (rule train_window_cascade)."""

from reproduction.claims.results import write_json
from reproduction.experiments.window_cascade.protocol import (
    VARIANTS,
    TrainingWindows,
    choose_price,
    train_variant,
)
from reproduction.experiments.window_cascade.window_pool import WindowPool
from reproduction.pipeline.job import job

#: From so small that the regulariser alone fixes the length of w to so large that it hardly matters.
PRICES = (0.01, 0.1, 1.0, 10.0, 100.0)


def main(windows: str, model: str, best_share: float) -> None:
    """Choose C on the training images, train on all of them, and write the weights of each variant."""
    pool = WindowPool.read(windows)
    samples = TrainingWindows.of(pool)
    variants = {}
    for variant in VARIANTS:
        price, criteria = choose_price(pool, variant, PRICES, best_share)
        print(f"{variant}: C = {price:g} of {dict(zip(PRICES, criteria.round(4).tolist(), strict=True))}")
        trained = train_variant(samples, variant, price, best_share)
        variants[variant] = {
            "C": price,
            "weights": trained.tolist(),
            "weights_in_deviations": (trained * samples.scale).tolist(),
        }
    document = {
        "images": len(pool),
        "samples": len(samples.X),
        "share_of_misses": samples.share_of_misses(),
        "variants": variants,
    }
    write_json(model, document)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.windows, snakemake.output.model, snakemake.params.best_share)
