"""Parsing: trees of a context-free grammar, found by the algorithm of Cocke, Kasami and Younger."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: Parts of speech, which label words, and phrases, which label pairs of parts of speech or phrases.
SYMBOLS = ("Det", "N", "V", "P", "S", "NP", "VP", "PP")
N_TAGS = 4
#: Words and the parts of speech that each may have.
WORDS = {
    "the": ("Det",),
    "a": ("Det",),
    "dog": ("N",),
    "telescope": ("N",),
    "park": ("N",),
    "man": ("N", "V"),
    "saw": ("N", "V"),
    "walks": ("N", "V"),
    "watch": ("N", "V"),
    "chases": ("V",),
    "with": ("P",),
    "in": ("P",),
}
#: Rules of the grammar that generates the sentences, with their probabilities.
GRAMMAR = {
    "S": {("NP", "VP"): 1.0},
    "NP": {("Det", "N"): 0.75, ("NP", "PP"): 0.25},
    "VP": {("V", "NP"): 0.7, ("VP", "PP"): 0.3},
    "PP": {("P", "NP"): 1.0},
}
MAX_WORDS = 11

Tree = dict[tuple[int, int], int]
Vector = NDArray[np.float64]


class ParsingTask:
    """Sentences as arrays of words, binary trees as the symbols of their spans ``{(start, end): symbol}``.

    The features count which symbol begins and ends with which word and, with ``interactions``, the rules
    ``parent -> left right`` of the tree. The loss is the share of wrong spans.
    """

    def __init__(self, interactions: bool = True):
        self.interactions = interactions
        self._words = (2, len(SYMBOLS), len(WORDS))
        self._rules = (len(SYMBOLS), len(SYMBOLS), len(SYMBOLS))

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return int(np.prod(self._words)) + (int(np.prod(self._rules)) if self.interactions else 0)

    def joint_feature(self, x: NDArray[np.int64], y: Tree) -> Vector:
        """Return the counts of the first and last words of symbols, and of the rules."""
        words, rules = np.zeros(self._words), np.zeros(self._rules)
        for (start, end), symbol in y.items():
            words[0, symbol, x[start]] += 1
            words[1, symbol, x[end - 1]] += 1
            if end - start > 1:
                middle = split_of(y, start, end)
                rules[symbol, y[start, middle], y[middle, end]] += 1
        return np.concatenate([words.ravel(), rules.ravel()])[: self.dimension]

    def loss(self, y: Tree, z: Tree) -> float:
        """Return the share of the spans of ``z`` that ``y`` does not have, or has with another symbol."""
        return sum(y.get(span) != symbol for span, symbol in z.items()) / len(z)

    def predict(self, w: Vector, x: NDArray[np.int64]) -> Tree:
        """Return the tree of the highest score."""
        return self._best_tree(w, x, truth=None)

    def most_violated(self, w: Vector, x: NDArray[np.int64], y: Tree, rescaling: str) -> Tree:
        """Return the tree with the highest sum of score and loss; the loss is a sum over spans."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        return self._best_tree(w, x, truth=y)

    def _best_tree(self, w: Vector, x: NDArray[np.int64], truth: Tree | None) -> Tree:
        n, n_symbols = len(x), len(SYMBOLS)
        words = w[: np.prod(self._words)].reshape(self._words)
        rules = w[words.size :].reshape(self._rules) if self.interactions else np.zeros(self._rules)
        best, split = np.full((n, n + 1, n_symbols), -np.inf), {}
        for length in range(1, n + 1):
            starts = np.arange(n - length + 1)
            ends = starts + length
            scores = words[0][:, x[starts]].T + words[1][:, x[ends - 1]].T
            if truth is not None:
                symbols = [truth.get(span, -1) for span in zip(starts.tolist(), ends.tolist(), strict=True)]
                scores = scores + (np.arange(n_symbols) != np.array(symbols)[:, None]) / (2 * n - 1)
            allowed = slice(N_TAGS) if length == 1 else slice(N_TAGS, None)
            if length > 1:
                middles = starts[:, None] + np.arange(1, length)
                left, right = best[starts[:, None], middles], best[middles, ends[:, None]]
                # Of each span: the symbols of the phrase, and all divisions into two parts with symbols.
                choices = (left[..., None] + right[..., None, :])[:, None] + rules[:, None]
                flat = choices.reshape(len(starts), n_symbols, -1)
                split |= dict(
                    zip(zip(starts.tolist(), ends.tolist(), strict=True), flat.argmax(axis=2), strict=True)
                )
                scores = scores + flat.max(axis=2)
            best[starts, ends, allowed] = scores[:, allowed]
        return dict(_descend(split, (0, n), int(best[0, n].argmax())))


def _descend(split: dict, span: tuple[int, int], symbol: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the spans of the best tree below a symbol."""
    yield span, symbol
    if span in split:
        middle, left, right = np.unravel_index(
            split[span][symbol], (span[1] - span[0] - 1, *2 * [len(SYMBOLS)])
        )
        middle = span[0] + 1 + int(middle)
        yield from _descend(split, (span[0], middle), int(left))
        yield from _descend(split, (middle, span[1]), int(right))


def draw(rng: np.random.Generator, n: int) -> tuple[list[NDArray[np.int64]], list[Tree]]:
    """Draw sentences of at most `MAX_WORDS` words from the grammar, with their trees."""
    inputs, trees = [], []
    while len(inputs) < n:
        words: list[int] = []
        tree: Tree = {}
        _expand("S", rng, words, tree)
        if len(words) <= MAX_WORDS:
            inputs.append(np.array(words))
            trees.append(tree)
    return inputs, trees


def _expand(symbol: str, rng: np.random.Generator, words: list[int], tree: Tree) -> None:
    """Append the words of a random tree with the given root, and its spans."""
    start = len(words)
    if symbol in GRAMMAR:
        rules = GRAMMAR[symbol]
        for child in list(rules)[rng.choice(len(rules), p=list(rules.values()))]:
            if len(words) <= MAX_WORDS:
                _expand(child, rng, words, tree)
    else:
        words.append(int(rng.choice([i for i, tags in enumerate(WORDS.values()) if symbol in tags])))
    tree[start, len(words)] = SYMBOLS.index(symbol)


def split_of(tree: Tree, start: int, end: int) -> int:
    """Return where the span of a phrase is divided."""
    return next(m for m in range(start + 1, end) if (start, m) in tree and (m, end) in tree)
