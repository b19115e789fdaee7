"""The configuration of the run that a script is part of, for what its results say about their settings."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

_config: ContextVar[Mapping[str, Any]] = ContextVar("config", default=MappingProxyType({}))


def run_config() -> Mapping[str, Any]:
    """Return the configuration of the run; an empty mapping outside of `configured`."""
    return _config.get()


@contextmanager
def configured(config: Mapping[str, Any]) -> Iterator[None]:
    """Make ``config`` the configuration of the run."""
    token = _config.set(config)
    try:
        yield
    finally:
        _config.reset(token)
