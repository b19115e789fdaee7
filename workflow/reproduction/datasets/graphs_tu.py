"""The graph classification data sets of the TU Dortmund collection."""

from pathlib import Path

from ermlab._utils.files import broken, require_folder
from ermlab.kernels import GraphSet, read_tu


def read_graphs_tu(folder: str | Path) -> dict[str, GraphSet]:
    """Read every set in ``folder``, one folder per set."""
    folder = require_folder(folder)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if not names:
        raise broken(folder, "no folder in it", "one for each set of graphs")
    return {name: read_tu(folder / name, name) for name in names}
