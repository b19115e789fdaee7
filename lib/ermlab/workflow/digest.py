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

PACKAGE = "ermlab"


def library_digest(source: str | Path, library: str | Path = "lib") -> str:
    """Digest all modules of the library that ``source`` (a script or notebook) imports."""
    library = Path(library)
    modules = library_modules(source, library)
    return _hash("".join(f"{name}\0{_meaning(_module_path(name, library))}\0" for name in modules))


def function_digest(dotted: str | None, library: str | Path = "lib") -> str | None:
    """Digest the module of a function that is named by its dotted path, with all that it imports."""
    if dotted is None:
        return None
    path = _module_path(dotted.rpartition(".")[0], Path(library))
    return None if path is None else f"{_hash(_meaning(path))}-{library_digest(path, library)}"


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
    waiting, found = _imports(Path(source), library), set()
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting |= _imports(_module_path(module, library), library) - found
    return sorted(found)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _imports(path: Path, library: Path) -> set[str]:
    """Name the library modules that one file imports, each with the packages it lies in."""
    modules = set()
    for node in ast.walk(ast.parse(_code(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = _parent(path, library, node.level) if node.level else ""
            base = ".".join(part for part in (parent, node.module or "") if part)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if name.split(".")[0] == PACKAGE:
                parts = name.split(".")
                modules |= {".".join(parts[: i + 1]) for i in range(len(parts))}
    return {module for module in modules if _module_path(module, library) is not None}


def _parent(path: Path, library: Path, level: int) -> str:
    """Name the package that a relative import of the given level starts from."""
    parts = path.relative_to(library).with_suffix("").parts
    return ".".join(parts[:-level])


def _module_path(module: str, library: Path) -> Path | None:
    stem = library.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def _meaning(path: Path) -> str:
    """Dump a module's syntax tree without docstrings; parsed once while the file stays as it is."""
    status = path.stat()
    return _meaning_at(path, status.st_mtime_ns, status.st_size)


@cache
def _meaning_at(path: Path, modified: int, size: int) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
