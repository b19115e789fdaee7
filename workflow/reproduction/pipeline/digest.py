"""Digests of the library code that a script or notebook uses.

Snakemake sees that a script changed, but not a library module that the script imports. A rule
therefore carries `Library.digest` of its script in its ``params``: when a module that the script
imports, directly or through others, changes its meaning, the digest changes and the rule reruns.
Comments, docstrings and layout do not count. Names that a package exports lazily, by its stub
``__init__.pyi``, are followed to the modules that define them.

Every call of Snakemake, on a cluster every job, asks for all digests, and parsing all modules takes a
second. So what was found in a text is kept in a file, under the digest of that text.
"""

import ast
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

#: Folders of the packages that scripts and notebooks import.
FOLDERS = ("lib", "workflow")


class Library:
    """The modules of the packages in some folders, each read once, when first asked for.

    What changes later in a folder is not seen: a run of the workflow has one view of its library.

    Parameters
    ----------
    folders
        Where the packages are; `FOLDERS` if none is given.
    kept
        File with what was found in texts, which `keep` writes. One that is broken, or that another version
        of Python or of this module has written, counts as empty.
    """

    def __init__(self, *folders: str | Path, kept: str | Path | None = None):
        self._paths = _module_paths(folders or FOLDERS)
        self._packages = {
            path: name if path.name == "__init__.py" else name.rpartition(".")[0]
            for name, path in self._paths.items()
        }
        self._kept = None if kept is None else Path(kept)
        self._known = {} if self._kept is None else _read_kept(self._kept)
        self._asked: dict[str, _Parsed] = {}
        self._parsed = cache(self._read)
        self._exports = cache(self._find_exports)
        self._imported = cache(self._find_imported)

    def digest(self, source: str | Path) -> str:
        """Digest all modules of the library that ``source`` (a script or notebook) imports."""
        modules = self.modules(source)
        return _hash("".join(f"{name}\0{self._parsed(self._paths[name]).meaning}\0" for name in modules))

    def function_digest(self, dotted: str | None) -> str | None:
        """Digest the module of a function that is named by its dotted path, with all that it imports."""
        if dotted is None:
            return None
        path = self._paths.get(dotted.rpartition(".")[0])
        return None if path is None else f"{self._parsed(path).meaning}-{self.digest(path)}"

    def modules(self, source: str | Path) -> list[str]:
        """Name the modules that ``source`` imports, directly or through others, sorted."""
        waiting, found = set(self._imported(Path(source))), set()
        while waiting:
            module = waiting.pop()
            found.add(module)
            waiting |= self._imported(self._paths[module]) - found
        return sorted(found)

    def parameters(self, script: Path) -> list["Parameter"]:
        """Return the keyword-only parameters of the function ``main`` of a script."""
        return [Parameter(*fields) for fields in self._parsed(script).parameters]

    def dataclass_fields(self, script: Path, name: str) -> dict[str, bool] | None:
        """Return the fields of a dataclass that a script defines or imports, and whether each has a default.

        None if the name is not that of a dataclass of the library.
        """
        parsed = self._parsed(script)
        if name in parsed.dataclasses:
            return parsed.dataclasses[name]
        source = self._paths.get(parsed.sources.get(name, ""))
        return None if source is None else self.dataclass_fields(source, name)

    def keep(self) -> None:
        """Write what was found in all texts that were asked for, unless it is in the file already.

        The file is replaced as a whole, so processes that do this at the same time do not disturb each other.
        """
        if self._kept is None or self._asked.keys() <= self._known.keys():
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        document = {"maker": _maker(), "texts": self._asked}
        with tempfile.NamedTemporaryFile("w", dir=self._kept.parent, delete=False, encoding="utf-8") as part:
            json.dump(document, part)
        Path(part.name).replace(self._kept)

    def _find_imported(self, path: Path) -> frozenset[str]:
        """Return the modules that a file imports directly."""
        return frozenset().union(*(self._resolve(name) for name in self._parsed(path).imported))

    def _resolve(self, name: str) -> set[str]:
        """Return the modules behind an imported dotted name: the packages it lies in, and its definition."""
        parts = name.split(".")
        found = {".".join(parts[: i + 1]) for i in range(len(parts))} & self._paths.keys()
        parent, _, last = name.rpartition(".")
        exports = self._exports(parent)
        if last in exports:
            found |= self._resolve(f"{parent}.{exports[last]}.{last}")
        # Whoever imports a package, or all of it, may use anything that it exports.
        package = parent if last == "*" else name
        for exported, module in self._exports(package).items():
            found |= self._resolve(f"{package}.{module}.{exported}")
        return found

    def _find_exports(self, package: str) -> dict[str, str]:
        """Return the submodule of each name that a package exports lazily; none for modules and others."""
        path = self._paths.get(package)
        if path is None or path.name != "__init__.py":
            return {}
        stub, exports = path.with_suffix(".pyi"), {}
        if stub.exists():
            self._packages[stub] = package
            for name in self._parsed(stub).imported:
                module, _, exported = name.removeprefix(f"{package}.").rpartition(".")
                exports[exported] = module
        return exports

    def _read(self, path: Path) -> "_Parsed":
        code = _code(path)
        key = _hash(f"{path.as_posix()}\0{code}")
        if key not in self._asked:
            self._asked[key] = self._known.get(key) or _parse(code, self._packages.get(path, ""))
        return self._asked[key]


def compiled_digest(*folders: str | Path) -> str:
    """Digest all modules that numba compiles, of `FOLDERS` if none is given.

    Numba's cache knows when the module of a function has changed, but not when one has from which that
    function takes others. A cache for each digest cannot be stale.
    """
    paths = (path for folder in folders or FOLDERS for path in sorted(Path(folder).rglob("*.py")))
    sources = (path.read_text(encoding="utf-8") for path in paths)
    return _hash("\0".join(source for source in sources if "njit" in source))


class Parameter(NamedTuple):
    """A parameter of a function: its name, the name that annotates it, and whether it has a default."""

    name: str
    annotation: str | None
    optional: bool


class _Parsed(NamedTuple):
    imported: list[str]  #: dotted names of modules, or of what is in them
    meaning: str  #: digest of the syntax tree without docstrings
    parameters: list[list]  #: as `Parameter`, of the keyword-only parameters of ``main``
    dataclasses: dict[str, dict[str, bool]]  #: fields of each dataclass, and whether they have a default
    sources: dict[str, str]  #: module of each name that is imported from one


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _parse(code: str, package: str) -> _Parsed:
    tree = ast.parse(code)
    imported: set[str] = set()
    for node in _statements(tree):
        imported |= _imported(node, package)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return _Parsed(
        sorted(imported),
        _hash(ast.dump(tree)),
        _parameters_of_main(tree),
        {node.name: _fields(node) for node in classes if _is_dataclass(node)},
        {
            alias.name: node.module or ""
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        },
    )


def _parameters_of_main(tree: ast.Module) -> list[list]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            return [
                [argument.arg, _name(argument.annotation), default is not None] for argument, default in pairs
            ]
    return []


def _name(annotation: ast.expr | None) -> str | None:
    return annotation.id if isinstance(annotation, ast.Name) else None


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _fields(node: ast.ClassDef) -> dict[str, bool]:
    return {
        field.target.id: field.value is not None
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }


def _maker() -> str:
    """Digest what decides about the result of `_parse` but for the text: this module, and Python."""
    return _hash(f"{sys.version}\0{Path(__file__).read_text(encoding='utf-8')}")


def _read_kept(path: Path) -> dict[str, _Parsed]:
    """Return what `Library.keep` wrote, nothing if it was not written here or is damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["maker"] != _maker():
            return {}
        return {key: _checked(*parsed) for key, parsed in document["texts"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _checked(*fields: Any) -> _Parsed:
    parsed = _Parsed(*fields)
    if [type(field) for field in parsed] != [list, str, list, dict, dict]:
        raise TypeError("expected names, a digest, parameters, dataclasses and sources")
    if not all(isinstance(text, str) for text in (*parsed.imported, *parsed.sources.values())):
        raise TypeError("expected names")
    if not all(len(fields) == len(Parameter._fields) for fields in parsed.parameters):
        raise TypeError("expected parameters")
    if not all(isinstance(fields, dict) for fields in parsed.dataclasses.values()):
        raise TypeError("expected fields of dataclasses")
    return parsed


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _module_paths(folders: Iterable[str | Path]) -> dict[str, Path]:
    """Return the file of each module of the packages in ``folders``, by its dotted name."""
    paths = {}
    for folder in map(Path, folders):
        for top in folder.glob("*/__init__.py"):
            for path in top.parent.rglob("*.py"):
                parts = path.relative_to(folder).with_suffix("").parts
                paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a module or statement and all statements in it, but no expressions, which are most of a tree."""
    yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield from _statements(inner)


def _imported(node: ast.AST, package: str) -> set[str]:
    """Return the dotted names of what a statement of a module of ``package`` imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    parents = package.split(".")
    parent = ".".join(parents[: len(parents) + 1 - node.level]) if node.level else ""
    base = ".".join(part for part in (parent, node.module or "") if part)
    return {f"{base}.{alias.name}" for alias in node.names}


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
