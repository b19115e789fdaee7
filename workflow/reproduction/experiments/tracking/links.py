"""Links between cells of successive frames, the tracks they make up, and files of tracks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.files import reading, require_file
from ermlab.tracking.assignment import EVENTS, NONE, Assignment, Hypotheses
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks

#: Rows (cell of the first frame, cell of the second), as indices within their frames.
Links = NDArray[np.int64]


def links_of(hypotheses: Hypotheses, y: ArrayLike) -> Links:
    """Return the pairs of cells that the events of an assignment link, ascending."""
    chosen = np.flatnonzero(np.asarray(y, dtype=bool))
    sources, targets = hypotheses.sources[chosen], hypotheses.targets[chosen]
    rows = np.stack([np.repeat(sources, 2, axis=1), np.tile(targets, 2)], axis=-1).reshape(-1, 2)
    return np.unique(rows[(rows != NONE).all(axis=1)], axis=0)


def events_of(hypotheses: Hypotheses, links: Links) -> Assignment:
    """Return the candidate events that correspond to links between two frames.

    A cell with two links to the second frame divides. Events that are no candidates are left out, so that the
    result need not be an assignment.
    """
    # The last place is for `NONE`.
    successors = np.bincount(links[:, 0], minlength=hypotheses.n_sources + 1)
    predecessors = np.bincount(links[:, 1], minlength=hypotheses.n_targets + 1)
    linked = np.zeros((hypotheses.n_sources + 1, hypotheses.n_targets + 1), dtype=bool)
    linked[tuple(links.T)] = True
    sources, targets = hypotheses.sources, hypotheses.targets
    found = hypotheses.kind != list(EVENTS).index("split")
    for cells, others, numbers in ((sources, targets, successors), (targets, sources, predecessors)):
        wanted = (others != NONE).sum(axis=1)
        for cell in cells.T:
            found &= (cell == NONE) | (numbers[cell] == wanted)
    for i in sources.T:
        for j in targets.T:
            found &= (i == NONE) | (j == NONE) | linked[i, j]
    return found


def write_tracks(path: str | Path, found: Mapping[str, CellTracks]) -> None:
    """Write the tracks that one or more trackers found in a film."""
    arrays = {f"{name}_label": tracks.label for name, tracks in found.items()}
    arrays |= {f"{name}_lineage": np.array(tracks.lineage.rows()) for name, tracks in found.items()}
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def read_tracks(path: str | Path) -> dict[str, CellTracks]:
    """Read what `write_tracks` wrote."""
    path = Path(path)
    with reading(path, "tracks written by write_tracks"), np.load(require_file(path)) as content:
        names = [name.removesuffix("_label") for name in content.files if name.endswith("_label")]
        return {
            name: CellTracks(content[f"{name}_label"], Lineage(*content[f"{name}_lineage"].reshape(-1, 4).T))
            for name in names
        }


def join_links(film: CellFilm, first: int, links: Sequence[Links]) -> CellTracks:
    """Return the tracks that links between successive frames make up, from frame ``first`` on.

    A cell with one successor continues its track. With several successors the track ends, and they begin as
    its children. Where several cells are linked to one, the track of the largest continues and the others
    end.
    """
    if not 0 <= first <= first + len(links) < len(film):
        raise ValueError(
            f"frames {first} to {first + len(links)} are linked: expected some of 0 to {len(film) - 1}"
        )
    label = np.zeros(len(film.frame), dtype=np.int64)
    begin, end, parent = [], [], []

    def new_tracks(t: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        begin.extend([t] * len(parents))
        end.extend([t] * len(parents))
        parent.extend(parents.tolist())
        return np.arange(len(begin) - len(parents), len(begin)) + 1

    here = film.numbers(first)
    label[here] = new_tracks(first, np.zeros(here.stop - here.start, dtype=np.int64))
    for t, rows in enumerate(links, start=first):
        before, after = film.numbers(t), film.numbers(t + 1)
        old, new = label[before], label[after]
        goes_on, divides = _continued(film.area[before], new.size, rows)
        new[goes_on[:, 1]] = old[goes_on[:, 0]]
        new[divides[:, 1]] = new_tracks(t + 1, old[divides[:, 0]])
        fresh = new == 0
        new[fresh] = new_tracks(t + 1, np.zeros(int(fresh.sum()), dtype=np.int64))
        for number in new.tolist():
            end[number - 1] = t + 1
    rows = [np.array(column, dtype=np.int64) for column in (begin, end, parent)]
    return CellTracks(label, Lineage(np.arange(len(begin)) + 1, *rows))


def _continued(area: NDArray[np.float64], n_targets: int, rows: Links) -> tuple[Links, Links]:
    """Return the links that continue a track, and those from a parent to its children."""
    if len(rows) and not ((rows >= 0).all() and (rows < [len(area), n_targets]).all()):
        raise ValueError(f"links of {len(area)} cells with {n_targets}: a cell does not exist")
    # The largest source of each target; of equal ones the first.
    order = np.lexsort((rows[:, 0], -area[rows[:, 0]], rows[:, 1]))
    rows = rows[order]
    rows = rows[np.unique(rows[:, 1], return_index=True)[1]]
    alone = np.bincount(rows[:, 0], minlength=len(area))[rows[:, 0]] == 1
    return rows[alone], rows[~alone]
