"""Documents from a tree of topics, for simulated newsgroups.

Words have Zipf's frequencies. A topic is a distribution in which some words are far more frequent than
elsewhere. A post mixes common words, the topics of its group and of the hierarchies above it, and subjects
that cut across the hierarchy: believers and sceptics quote each other, and what is for sale is hardware.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets.newsgroups20 import ancestors

Vector = NDArray[np.float64]
N_WORDS = 12_000
#: Number of words that are more frequent in a topic, and the median factor.
_TOPIC_WORDS, _LIFT = 150, 40.0
#: Mean shares of common words, of all hierarchies above a group, of subjects, and of the group.
_SHARES = np.array([0.62, 0.10, 0.10, 0.18])
#: Concentration of the shares: with a larger one, posts are more similar; some posts are off topic.
_CONCENTRATION = 8.0
#: Median number of words of a post and the standard deviation of its logarithm, as in Usenet of 1993.
_LENGTH, _LENGTH_SPREAD = 130.0, 0.9
#: Share of the words of a topic that is replaced between earlier and later posts.
_DRIFT = 0.15

SUBJECTS: dict[str, tuple[str, ...]] = {
    "religion": ("alt.atheism", "soc.religion.christian", "talk.religion.misc"),
    "hardware": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "misc.forsale", "sci.electronics"),
    "software": ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"),
    "state": ("sci.crypt", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "vehicles": ("misc.forsale", "rec.autos", "rec.motorcycles"),
}
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il"))


def invented_words(count: int) -> list[str]:
    """Return distinct words of two or more syllables, the same for every seed."""
    base = len(_SYLLABLES)
    words = []
    for number in range(base, base + count):
        word = ""
        while number:
            number, digit = divmod(number, base)
            word += _SYLLABLES[digit]
        words.append(word if len(word) > 3 else word + "s")
    return list(dict.fromkeys(words))


class TopicTree:
    """Word distributions of groups with dotted names."""

    def __init__(self, groups: Sequence[str], seed: int):
        self.words = invented_words(N_WORDS)
        self._common = 1.0 / np.arange(2.0, len(self.words) + 2.0)
        self._common /= self._common.sum()
        names = sorted({name for group in groups for name in ancestors(group)} | set(SUBJECTS))
        self._topics = {
            name: self._draw_topics(np.random.default_rng([seed, 0, number]))
            for number, name in enumerate(names)
        }

    def post(self, group: str, late: bool, rng: np.random.Generator) -> list[str]:
        """Return the words of a post in their order."""
        above = ancestors(group)[:-1]
        subjects = [name for name, some in SUBJECTS.items() if group in some]
        shares = rng.dirichlet(_CONCENTRATION * _SHARES)
        mixture = (shares[0] + 1e-12) * self._common
        for share, names in zip(shares[1:], (above, subjects, [group]), strict=True):
            for name in names:
                mixture = mixture + share / len(names) * self._topics[name][int(late)]
        length = max(5, round(rng.lognormal(np.log(_LENGTH), _LENGTH_SPREAD)))
        numbers = rng.choice(len(self.words), size=min(length, 5000), p=mixture / mixture.sum())
        return [self.words[number] for number in numbers]

    def _draw_topics(self, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Return the word distribution of a topic in earlier and in later posts.

        Its words are neither the most frequent ones, which all topics share, nor the very rare ones.
        """
        first, last = len(self.words) // 100, len(self.words) // 2
        lifted = rng.choice(np.arange(first, last), size=_TOPIC_WORDS, replace=False)
        later = lifted.copy()
        changed = rng.random(_TOPIC_WORDS) < _DRIFT
        later[changed] = rng.choice(np.arange(first, last), size=int(changed.sum()))
        lifts = rng.lognormal(np.log(_LIFT), 1.0, _TOPIC_WORDS)
        return self._topic(lifted, lifts), self._topic(later, lifts)

    def _topic(self, lifted: NDArray[np.int64], lifts: Vector) -> Vector:
        topic = np.zeros(len(self.words))
        np.add.at(topic, lifted, self._common[lifted] * lifts)
        return topic / topic.sum()
