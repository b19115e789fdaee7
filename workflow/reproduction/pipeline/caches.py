"""Redirect caches of other programs if the home folder is not writable."""

import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path


def use_writable_caches(folder: str | Path = ".") -> None:
    """Keep caches in ``folder/.cache`` if those of the user cannot be written.

    Snakemake would end in a traceback. Matplotlib would warn, and look for all fonts anew in each process.
    The environment is changed, so that jobs keep to it, too. Numba's cache and the folders of notebooks are
    in places of their own anyway.
    """
    if _user_cache_is_writable():
        return
    caches = Path(folder, ".cache").resolve()
    os.environ["XDG_CACHE_HOME"] = str(caches)
    os.environ.setdefault("MPLCONFIGDIR", str(caches / "matplotlib"))


def _user_cache_is_writable() -> bool:
    """Return whether files can be made in the user's cache, which is made itself if need be."""
    try:
        folder = user_cache_path("snakemake", "snakemake")
    except RuntimeError:  # a user without HOME, of whom the system knows no home either
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
