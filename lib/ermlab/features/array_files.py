"""Dataclasses of arrays that are written to one file and come back as they were."""

from dataclasses import fields
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np

from ermlab.errors import DataError


class ArrayFile:
    """Base of a dataclass of arrays, strings and numbers that is kept in an ``.npz`` file."""

    def write(self, path: str | Path) -> None:
        """Write all fields, the same bytes for the same content."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what `write` wrote."""
        try:
            with np.load(path, allow_pickle=False) as content:
                arrays = {field.name: content[field.name] for field in fields(cls)}
            return cls(**{name: value if value.ndim else value.item() for name, value in arrays.items()})
        except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
            raise DataError(f"{path} is not what {cls.__name__}.write has written ({error})") from error
