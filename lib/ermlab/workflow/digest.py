"""Digests of the library code that a script or notebook uses.

Snakemake sees that a script changed, but not a library module that the script imports. A rule
therefore carries `library_digest` of its script in its ``params``: when a module that the script
imports, directly or through others, changes its meaning, the digest changes and the rule reruns.
Comments, docstrings and layout do not count.
"""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = "ermlab"


def library_digest(source: str | Path, library: str | Path = "lib") -> str:
    """Digest all modules of the library that ``source`` (a script or notebook) imports."""
    library = Path(library)
    paths = _module_paths(library)
    modules = _reached(Path(source), library, paths)
    return _hash("".join(f"{name}\0{_parsed(paths[name], library).meaning}\0" for name in modules))


def function_digest(dotted: str | None, library: str | Path = "lib") -> str | None:
    """Digest the module of a function that is named by its dotted path, with all that it imports."""
    if dotted is None:
        return None
    library = Path(library)
    path = _module_paths(library).get(dotted.rpartition(".")[0])
    return None if path is None else f"{_parsed(path, library).meaning}-{library_digest(path, library)}"


def compiled_digest(library: str | Path = "lib") -> str:
    """Digest all modules that numba compiles.

    Numba's cache knows when the module of a function has changed, but not when one has from which that
    function takes others. A cache for each digest cannot be stale.
    """
    sources = (path.read_text(encoding="utf-8") for path in sorted(Path(library).rglob("*.py")))
    return _hash("\0".join(source for source in sources if "njit" in source))


def library_modules(source: str | Path, library: str | Path = "lib") -> list[str]:
    """Name the library modules that ``source`` imports, directly or through others, sorted."""
    library = Path(library)
    return _reached(Path(source), library, _module_paths(library))


class _Parsed(NamedTuple):
    imported: frozenset[str]  #: names in the library, of modules or of what is in them, and their packages
    meaning: str  #: digest of the syntax tree without docstrings


def _reached(source: Path, library: Path, paths: dict[str, Path]) -> list[str]:
    waiting, found = _parsed(source, library).imported & paths.keys(), set()
    while waiting:
        module = waiting.pop()
        found.add(module)
        waiting |= (_parsed(paths[module], library).imported & paths.keys()) - found
    return sorted(found)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _module_paths(library: Path) -> dict[str, Path]:
    """Return the file of each module of the library, by its dotted name."""
    paths = {}
    for path in (library / PACKAGE).rglob("*.py"):
        parts = path.relative_to(library).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def _parsed(path: Path, library: Path) -> _Parsed:
    """Parse a file, once while it stays as it is: that takes long, and each file is asked for often."""
    status = path.stat()
    return _parsed_at(path, library, status.st_mtime_ns, status.st_size)


@cache
def _parsed_at(path: Path, library: Path, modified: int, size: int) -> _Parsed:
    tree = ast.parse(_code(path))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    imported: set[str] = set()
    for node in ast.walk(tree):
        imported |= _imported(node, path, library)
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return _Parsed(frozenset(imported), _hash(ast.dump(tree)))


def _imported(node: ast.AST, path: Path, library: Path) -> set[str]:
    """Name what a statement imports of the library, with the packages it lies in."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        parent = _parent(path, library, node.level) if node.level else ""
        base = ".".join(part for part in (parent, node.module or "") if part)
        names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
    else:
        return set()
    split = [name.split(".") for name in names]
    return {".".join(parts[: i + 1]) for parts in split if parts[0] == PACKAGE for i in range(len(parts))}


def _parent(path: Path, library: Path, level: int) -> str:
    """Name the package that a relative import of the given level starts from."""
    parts = path.relative_to(library).with_suffix("").parts
    return ".".join(parts[:-level])


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
