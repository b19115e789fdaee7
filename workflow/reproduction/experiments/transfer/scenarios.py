"""Where annotation comes from and where it goes: laboratories, a real film, controls (section 1.5.4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs, halves
from ermlab.tracking.patches import pair_patches
from reproduction.experiments.transfer.patch_training import PatchPool
from reproduction.experiments.transfer.protocol import Domain

Films = Mapping[str, CellFilm]
#: Source, target and test of a `TransferStudy`, by name.
Parts = dict[str, tuple[Domain, Domain, Sequence[FramePair]]]
CONTROLS = "controls"


@dataclass(frozen=True)
class Sizes:
    """How much is made of films."""

    cells: int  #: of the first frame that a patch has at most
    #: of frames that are learned from or tested on at most, the first ones; None for all
    pairs: int | None = None
    n_threads: int = 1  #: patches that are searched at the same time

    def domain(self, film: CellFilm, frames: range | None = None) -> Domain:
        """Return what there is to learn from: the patches of which an event is known, and their frames."""
        pairs = self.test(film, frames)
        patches = pair_patches(film, pairs, Gates(), self.cells)
        known = [patch for patch in patches if len(patch.annotation.events)]
        return Domain(PatchPool(known, n_threads=self.n_threads), {pair.frame: pair for pair in pairs})

    def test(self, film: CellFilm, frames: range | None = None) -> list[FramePair]:
        """Return pairs of whole frames."""
        frames = range(len(film) - 1) if frames is None else frames
        return frame_pairs(film, Gates(), frames[: self.pairs])


def laboratories(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return two laboratories, the target tested on another film of it."""
    source, target = sizes.domain(films["dcelliq_1"]), sizes.domain(films["mitocheck_1"])
    return {"laboratories": (source, target, sizes.test(films["mitocheck_2"]))}


def migration(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return a published simulation of nuclei as source, and the two halves of a real film."""
    film = films["migration_4"]
    learned, tested = halves(film)
    return {
        "migration": (sizes.domain(films["ctc_sim"]), sizes.domain(film, learned), sizes.test(film, tested))
    }


def controls(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return a source with random assignments in place of the truth, and one from the target's own film."""
    home, test = films["mitocheck_1"], sizes.test(films["mitocheck_2"])
    source = sizes.domain(films["dcelliq_1"])
    random = PatchPool(source.pool.patches, source.pool.random_truth(rng), sizes.n_threads)
    first, second = (sizes.domain(home, half) for half in halves(home))
    return {
        "shuffled": (replace(source, pool=random), sizes.domain(home), test),
        "same": (first, second, test),
    }


SCENARIOS: dict[str, Callable[[Films, Sizes, np.random.Generator], Parts]] = {
    "laboratories": laboratories,
    "migration": migration,
    CONTROLS: controls,
}
