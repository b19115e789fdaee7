"""Algorithm 1.2 of the cheap-data chapter, transcribed line by line with all outputs enumerated."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.active_learning import ActiveLearner
from ermlab.tracking.patches import Patch
from reproduction.experiments.tracking.enumeration import all_assignments

Vector = NDArray[np.float64]


@dataclass
class Transcript:
    """Queries, weights after each, and numbers of predictions for each."""

    queries: list[int] = field(default_factory=list)
    weights: list[Vector] = field(default_factory=list)
    predictions: list[int] = field(default_factory=list)


class _Enumerated:
    """A patch as the features of all its outputs, and which of these have all annotated events."""

    def __init__(self, patch: Patch):
        outputs = all_assignments(patch.hypotheses)
        self.features = np.array([patch.hypotheses.joint_feature(y) for y in outputs])
        self.agrees = outputs[:, patch.annotation.events].all(axis=1)

    def uncertainty(self, w: Vector) -> float:
        """Return *best vs. 2nd* of Table 1.2."""
        scores = np.sort(self.features @ w)
        return float(np.exp(scores[-2] - scores[-1])) if len(scores) > 1 else 0.0

    def step(self, w: Vector) -> Vector:
        """Return ``Phi(x, y*) - Phi(x, y)``: ``y*`` is the best output that has the annotated events."""
        scores = self.features @ w
        best = int(scores.argmax())
        agreeing = int(np.where(self.agrees, scores, -np.inf).argmax())
        return self.features[best if self.agrees[best] else agreeing] - self.features[best]


def learn_actively(patches: Sequence[Patch], w: Vector, queries: int) -> Transcript:
    """Run lines 3 to 15 for a number of queries, with the uncertainty *best vs. 2nd*.

    A prediction is a search for the best outputs of one patch. The stop of line 15 is left out, and so is
    line 13, on which only the stop depends.
    """
    samples = [_Enumerated(patch) for patch in patches]
    unlabeled, labeled = list(range(len(samples))), []
    transcript, w = Transcript(), np.array(w)
    for _ in range(queries):
        uncertainties = [samples[i].uncertainty(w) for i in unlabeled]
        chosen = unlabeled[int(np.argmax(uncertainties))]  # lines 4 and 5
        unlabeled.remove(chosen)  # line 6
        labeled.append(chosen)  # line 7
        for i in labeled:  # lines 8 to 11
            w = w + samples[i].step(w)
        transcript.queries.append(chosen)
        transcript.weights.append(w)
        # The uncertainties of line 12 are those of line 4 in the next iteration.
        transcript.predictions.append(len(unlabeled) + len(labeled))
    return transcript


def compare_with_learner(patches: Sequence[Patch], w: Vector) -> tuple[float, float]:
    """Return the largest relative difference of the weights of `ActiveLearner`, and predictions per query.

    Half of the patches are queried. The difference is at least 1 if the queries differ, and the predictions
    are divided by the number of patches.
    """
    queries = max(len(patches) // 2, 1)
    transcript = learn_actively(patches, w, queries)
    learner = ActiveLearner(patches, "best_second", w0=w, n_jobs=1)
    for _ in range(queries):
        number = learner.query()
        learner.annotate(number, patches[number].annotation.events)
    differences = [
        float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        for ours, theirs in zip(learner.history.weights, transcript.weights, strict=True)
    ]
    if learner.labeled != transcript.queries:
        differences.append(1.0)
    return max(differences), float(np.mean(transcript.predictions)) / len(patches)
