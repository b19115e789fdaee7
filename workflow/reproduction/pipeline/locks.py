"""Recovery of the workflow folder after a run that was killed."""

import fcntl
from pathlib import Path
from typing import IO


def clear_stale_lock(folder: str | Path = ".snakemake") -> IO | None:
    """Remove Snakemake's lock files if the run that made them is gone.

    Snakemake's locks are plain files, so they outlive a killed run and the next one asks for
    ``--unlock``. The kernel's lock taken here ends with its process: whoever gets it knows that no
    other run is alive. Keep the returned handle open as long as the run lasts; ``None`` means that
    another run is alive.
    """
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    handle = (folder / "ermlab.lock").open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    for lock in (folder / "locks").glob("*.lock"):
        lock.unlink(missing_ok=True)
    return handle
