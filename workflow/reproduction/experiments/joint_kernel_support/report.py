"""Text of section 3.1 that depends on the results of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.joint_kernel_support.protocol import METHODS, READINGS
from reproduction.experiments.joint_kernel_support.select import OVERLAPS

READING_NAMES = {"free": "boxes of any size", "known": "windows of known size"}
KERNEL_NAMES = {"linear": "linear", "chi2": "χ²"}
SCALINGS = {"counts": "none", "area": "by the area of the box", "length": "to length 1"}


def locations_text(values: Mapping[str, Any]) -> str:
    """Return how many boxes the test images have, and how many of them are searched."""
    boxes = values["locations"]
    return (
        f"A test image has {boxes['all']:,} boxes with corners at any pixel, {boxes['all_on_a_grid']:,} with "
        f"corners on the grid of this page, and {boxes['known_size']:,} of the size of the cars at any pixel "
        f"(medians). Searched are {boxes['searched']['free']:,} of any size and "
        f"{boxes['searched']['known']:,} of known size."
    )


def settings_table(values: Mapping[str, Any], variants: pd.DataFrame) -> pd.DataFrame:
    """Return the held-out errors at the chosen overlap: a row per setting, a column per method."""
    overlaps = variants["reading"].map(lambda reading: values["choice"][reading]["max_overlap"])
    shown = variants[variants["max_overlap"] == overlaps]
    shown = shown.assign(
        reading=shown["reading"].map(READING_NAMES),
        descriptors=[_descriptors(values, str(scales).split()) for scales in shown["scales"]],
        scaling=shown["normalization"].map(SCALINGS),
    )
    return shown.pivot_table(
        index=["reading", "descriptors", "scaling"], columns="method", values="error", sort=False
    )[list(METHODS)]


def _descriptors(values: Mapping[str, Any], chosen: Sequence[int | str]) -> str:
    return " and ".join(f"{values['scales'][int(i)]:g}" for i in chosen)


def choice_text(values: Mapping[str, Any]) -> str:
    """Return the settings that were chosen for each reading, and whether the overlap is at an end."""
    lines = []
    for reading in READINGS:
        choice = values["choice"][reading]
        sizes = _descriptors(values, choice["scales"])
        scalings = "; ".join(
            f"{KERNEL_NAMES[kernel]} kernel: {SCALINGS[name]}"
            for kernel, name in sorted(choice["normalization"].items(), reverse=True)
        )
        overlap = choice["max_overlap"]
        end = ", at the end of its grid" if overlap in (OVERLAPS[0], OVERLAPS[-1]) else ""
        lines.append(
            f"- *{READING_NAMES[reading].capitalize()}.* Descriptors of {sizes} pixels per sample; scaling "
            f"of histograms: {scalings}; maximum overlap {overlap:g}{end}."
        )
    return "\n".join(lines)


def edges_text(values: Mapping[str, Any]) -> str:
    """Return how often the first or last value of a parameter was chosen."""
    shares = [f"{values['at_edge'][method]:.0%}" for method in METHODS]
    return (
        "With boxes of any size the smallest or the largest value of the parameter was chosen in "
        f"{', '.join(shares)} of the cases for S-SVM, linear JKSE and JKSE with the χ² kernel."
    )


def ssvm_text(values: Mapping[str, Any], published: Mapping[str, list[float]]) -> str:
    """Return how the error of the structured SVM and its C change with the noise, for both readings."""
    noise, sentences = values["noise"], []
    low, half = noise.index(0.3), noise.index(0.5)
    for reading, found in (("free", values), ("known", values["known_size"])):
        errors = _means(found["eer"]["ssvm"])
        chosen = [f"{np.median(item['repeats']):g}" for item in found["parameter"]["ssvm"]]
        sentences.append(
            f"With {READING_NAMES[reading]} the error of the S-SVM changes by "
            f"{100 * (errors[half] - errors[low]):+.0f} points from 30 to 50 % wrong boxes; the medians over "
            f"seeds of the chosen $C$ are {', '.join(chosen)} at $r$ = {', '.join(f'{r:g}' for r in noise)}."
        )
    theirs = 100 * (published["ssvm"][half] - published["ssvm"][low])
    return " ".join([*sentences, f"The published change is {theirs:+.0f} points."])


def agreement_text(values: Mapping[str, Any], published: Mapping[str, list[float]]) -> str:
    """Return how far each method is from the published errors, for both readings."""
    sentences = []
    for reading, found in (("free", values), ("known", values["known_size"])):
        distances = [
            f"{np.mean(np.abs(np.subtract(_means(found['eer'][method]), published[method]))):.2f}"
            for method in METHODS
        ]
        sentences.append(f"{', '.join(distances)} with {READING_NAMES[reading]}")
    return (
        "The mean absolute differences from the published error rates, over all noise levels, are for S-SVM, "
        f"linear JKSE and JKSE with the χ² kernel {' and '.join(sentences)}."
    )


def random_labels_text(values: Mapping[str, Any], published: Mapping[str, list[float]]) -> str:
    """Return how wrong labels and detections are if all boxes have been exchanged."""
    (on_a_car,) = _means([values["labels_on_a_car"][-1]])
    errors = [f"{_means(values['eer'][method])[-1]:.2f}" for method in METHODS]
    theirs = {published[method][-1] for method in METHODS}
    return (
        f"With all boxes exchanged, {on_a_car:.0%} of them still overlap a car by half or more. The equal "
        f"error rates are then {', '.join(errors)} for S-SVM, linear JKSE and JKSE with the χ² kernel "
        "(published "
        f"{' and '.join(f'{error:g}' for error in sorted(theirs))})."
    )


def times_text(values: Mapping[str, Any], timings: Mapping[str, float]) -> str:
    """Return what the training time of the structured SVM consists of."""
    calls = np.mean(values["map_calls_per_training"]["repeats"])
    share = timings["map_share"]
    rest = (
        "the quadratic programs between the searches take the larger part"
        if share < 0.5
        else "they take the larger part of the training time"
    )
    return (
        f"One training of the S-SVM takes {calls:,.0f} MAP calls on average, of "
        f"{1e3 * timings['map_call_seconds']:.1f} ms each. They are {share:.0%} of its training time: "
        f"{rest}. The longest training with all values of $C$ took "
        f"{timings['ssvm_training_seconds']:.1f} s, the longest of JKSE with all values of $\\nu$ "
        f"{timings['jkse_training_seconds']:.1f} s."
    )


def _means(items: list[Mapping[str, list[float]]]) -> list[float]:
    return [float(np.mean(item["repeats"])) for item in items]
