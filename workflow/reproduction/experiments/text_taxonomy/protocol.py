"""Splits, bags of words, covariances and losses of the experiment with text (thesis, section 5.2.6).

Vocabulary, bandwidth, covariances and classifiers come from the training part of a split; C is selected on
its validation part. The test part, later posts, is predicted once per classifier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from ermlab._utils.array_files import ArrayFile
from ermlab.kernels.sparse_histogram import generalized_gaussian, median_distance, sparse_chi2_distances
from ermlab.taxonomy import TaxonomicSVM, Taxonomy, shuffled, unit_trace
from reproduction.datasets.newsgroups20 import Newsgroups20
from reproduction.experiments.taxonomies import Trial, class_taxonomies, comparable

Matrix = NDArray[np.float64]
#: The columns I, B*, H V D* V' H and V D* V' of table 5.4, and the controls.
PUBLISHED = ("identity", "learned", "semantic_centred", "semantic")
CONTROLS = ("learned_topology", "permuted")
LOSSES = ("zero_one", "taxonomic")
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class TextBags(ArrayFile):
    """Bags of words of a split in CSR format, one part after the other.

    Rows sum to 1, or to 0 for a post without a known word.
    """

    counts: NDArray[np.int64]  #: posts in the training, validation and test part
    n_late: NDArray[np.int64]  #: (1,): posts from which the test part was drawn
    labels: NDArray[np.int64]
    data: Matrix
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]
    words: NDArray[np.str_]
    groups: NDArray[np.str_]  #: names of the classes

    def part(self, name: str) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Return the bags and the labels of a part."""
        shape = (len(self.labels), len(self.words))
        rows = slice(*np.append(0, np.cumsum(self.counts))[PARTS.index(name) :][:2])
        bags = sparse.csr_array((self.data, self.indices, self.indptr), shape=shape)
        return bags[rows], self.labels[rows]


def subject_and_body(text: str) -> str:
    """Return the subject and the body of a post; the other lines of its header identify the author."""
    header, _, body = text.partition("\n\n")
    subjects = [line[8:] for line in header.splitlines() if line.lower().startswith("subject:")]
    return "\n".join([*subjects, body])


def draw_bags(
    data: Newsgroups20, sizes: Mapping[str, int], seed: int | Sequence[int], min_posts: int
) -> TextBags:
    """Draw posts of each group for each part and count their words.

    Parameters
    ----------
    data : Newsgroups20
        Training and validation part are drawn from the posts before a date, the test part from later ones.
    sizes : mapping of str to int
        Maximum number of posts per group in each part. Of a small group, training and validation part get
        proportional shares.
    seed : int or sequence of int
        Seed of the draw.
    min_posts : int
        Minimum number of training posts that contain a word of the vocabulary.
    """
    rng = np.random.default_rng(seed)
    texts: dict[str, list[str]] = {part: [] for part in PARTS}
    labels: dict[str, list[int]] = {part: [] for part in PARTS}
    for group, name in enumerate(data.groups):
        early = rng.permutation(np.flatnonzero(data.train.labels == group))
        late = rng.permutation(np.flatnonzero(data.test.labels == group))
        if len(early) < 2 or len(late) < 1:
            raise ValueError(f"{name} has {len(early)} and {len(late)} posts: expected at least 2 and 1")
        share = sizes["train"] / (sizes["train"] + sizes["validation"])
        first = min(sizes["train"], max(1, int(share * len(early))))
        chosen = early[:first], early[first : first + sizes["validation"]], late[: sizes["test"]]
        for part, posts, numbers in zip(PARTS, (data.train, data.train, data.test), chosen, strict=True):
            texts[part] += [subject_and_body(posts.texts[i]) for i in numbers]
            labels[part] += [group] * len(numbers)
    counter = CountVectorizer(stop_words="english", token_pattern=r"[a-zA-Z]{2,}", min_df=min_posts)
    counts = sparse.vstack(
        [counter.fit_transform(texts["train"]), *(counter.transform(texts[part]) for part in PARTS[1:])],
        format="csr",
    ).astype(np.float64)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    bags = sparse.csr_array(sparse.diags_array(1.0 / np.maximum(totals, 1.0)) @ counts)
    return TextBags(
        counts=np.array([len(labels[part]) for part in PARTS]),
        n_late=np.array([len(data.test.labels)]),
        labels=np.concatenate([labels[part] for part in PARTS]),
        data=bags.data,
        indices=bags.indices.astype(np.int64),
        indptr=bags.indptr.astype(np.int64),
        words=counter.get_feature_names_out().astype(np.str_),
        groups=np.array(data.groups, dtype=np.str_),
    )


def kernels_of(bags: TextBags, parts: Sequence[str] = PARTS) -> dict[str, Matrix]:
    """Return the kernel of each part with the training part; the bandwidth is the median in training."""
    train, _ = bags.part("train")
    distances = sparse_chi2_distances(train)
    bandwidth = median_distance(distances)
    return {
        part: generalized_gaussian(
            distances if part == "train" else sparse_chi2_distances(bags.part(part)[0], train), bandwidth
        )
        for part in parts
    }


def class_trees(
    K: Matrix, y: NDArray[np.int64], semantic: Taxonomy, seed: int | Sequence[int]
) -> dict[str, Taxonomy]:
    """Return the trees of the training part, and a control: the semantic tree with permuted classes."""
    trees = class_taxonomies(K, y, semantic)
    return trees | {"permuted": shuffled(trees["semantic"], 1, seed)[0]}


def class_covariances(trees: dict[str, Taxonomy]) -> dict[str, Matrix]:
    """Return the covariances of the table, each with a mean variance of 1.

    Only the semantic tree keeps its root, in the last column of the published table. The coefficients of a
    sample sum to 0, so centering and the root change only the trace, that is the scale of C.
    """
    return {
        "identity": np.eye(trees["semantic"].n_leaves),
        "learned": comparable(trees["learned"].covariance()),
        "semantic_centred": comparable(trees["semantic"].covariance()),
        "semantic": unit_trace(trees["semantic"].covariance()),
        "learned_topology": comparable(trees["learned_topology"].covariance()),
        "permuted": comparable(trees["permuted"].covariance()),
    }


def class_losses(semantic: Taxonomy) -> dict[str, Matrix]:
    """Return the 0-1 loss and the number of edges between two classes in the semantic tree."""
    ones = semantic.with_lengths(np.ones(len(semantic.parents)))
    return {"zero_one": 1.0 - np.eye(semantic.n_leaves), "taxonomic": ones.metric()}


def train_once(
    B: Matrix, loss: Matrix, C: float, kernels: dict[str, Matrix], bags: TextBags, tol: float
) -> Trial:
    """Train by slack rescaling, as in the thesis (eq. 5.17), and validate by the same loss, negated."""
    model = TaxonomicSVM(B=B, B_loss=loss, C=C, rescaling="slack", tol=tol)
    model.fit(kernels["train"], bags.part("train")[1])
    mean = mean_loss(model, loss, kernels["validation"], bags.part("validation")[1])
    return Trial(C, -mean, float(model.gap_), int(model.n_iter_), model)


def mean_loss(model: TaxonomicSVM, loss: Matrix, K: Matrix, labels: NDArray[np.int64]) -> float:
    """Return the mean loss of the predictions for the rows of a kernel matrix."""
    return float(loss[labels, model.predict(K)].mean())
