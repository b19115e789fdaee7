"""Saving and loading of estimators without pickle.

An estimator is stored as its parameters and its fitted attributes: numbers, strings, arrays, sparse matrices,
collections of these, and objects of the classes in `CLASSES`. No other class is ever loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cached_property, wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ermlab._utils.files import broken, reading
from ermlab._utils.model_files import read_model, write_model
from ermlab._utils.sparse_matrices import sound_csr

FORMAT, VERSION = "ermlab model", 1
#: Classes of objects that files may contain, by module.
CLASSES = {
    "ermlab.cca.centered_kernels": ("Expansion", "Rows"),
    "ermlab.cca.laplacian_kcca": ("LaplacianKCCA",),
    "ermlab.cca.selection": ("LaplacianKCCACV",),
    "ermlab.detection.box_detector": ("BoxDetector",),
    "ermlab.detection.box_task": ("BoxTask",),
    "ermlab.features.words": ("Vocabulary",),
    "ermlab.fmri.decoder": ("FMRIDecoder",),
    "ermlab.fmri.targets": ("Target",),
    "ermlab.kernels.pyramid": ("PyramidQuantizer", "PyramidWL"),
    "ermlab.kernels.slot": ("SlotMap",),
    "ermlab.kernels.weisfeiler_lehman": (
        "Patterns",
        "SubtreeVocabulary",
        "WeisfeilerLehman",
        "WeisfeilerLehmanKernel",
    ),
    "ermlab.optimize.concave_convex": ("CCCPHistory", "CCCPResult"),
    "ermlab.optimize.result": ("History", "Result"),
    "ermlab.ranking.estimator": ("RankingSVM",),
    "ermlab.ranking.invariant_ranking": ("InvariantRankingSVM",),
    "ermlab.segmentation.chain_crf": ("ChainCRF",),
    "ermlab.segmentation.dense_crf": ("DenseCRF",),
    "ermlab.segmentation.graph_crf": ("GraphCRF",),
    "ermlab.segmentation.grid_crf": ("GridCRF",),
    "ermlab.segmentation.image_segmenter": ("ImageSegmenter",),
    "ermlab.segmentation.tree_crf": ("TreeCRF",),
    "ermlab.semisupervised.laplacian_ridge": ("LaplacianRidge",),
    "ermlab.semisupervised.laplacian_svc": ("LaplacianSVC",),
    "ermlab.sparse.ksupport_estimators": ("KSupportClassifier", "KSupportRegressor"),
    "ermlab.structured.equivariant": ("EquivariantTask", "FiniteSet", "Identity", "Rotation"),
    "ermlab.structured.invariant": ("InvariantSVM",),
    "ermlab.structured.jkse": ("JKSE", "LinearJKSE"),
    "ermlab.structured.latent_svm": ("LatentSVM",),
    "ermlab.structured.latent_task": ("LatentTransformationTask",),
    "ermlab.structured.multiclass": ("MultiClassTask",),
    "ermlab.structured.structured_svm": ("StructuredSVM",),
    "ermlab.structured.transfer": ("TransferResult",),
    "ermlab.structured.transfer_svm": ("TransferSVM",),
    "ermlab.taxonomy.taxonomic_svm": ("TaxonomicSVM",),
}
_MODULES = {name: module for module, names in CLASSES.items() for name in names}
#: What continues a search is of no use for predictions, and large: None takes its place.
_LEFT_OUT = {("ermlab.optimize.planes", "Planes"), ("ermlab.optimize.evaluation", "Evaluation")}
_MATRICES = ("csc_array", "csc_matrix", "csr_array", "csr_matrix")
_ARGUMENTS = "_constructor_arguments"
_EXPECTED = "a file that `save` of this version has written"


class SavedModel:
    """Base of estimators with `save` and `load`."""

    #: Attributes that are not stored.
    _unsaved: tuple[str, ...] = ()
    #: Attributes that are not stored if they hold objects of unknown classes.
    _optional: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write parameters and fitted attributes to a file, from which `load` restores the model.

        The file holds numbers and text only, no code. Parameters that are functions, or objects of classes
        that are not part of the library, are not stored, and have to be passed to `load`.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.
        """
        encoder = _Encoder()
        document = {"format": FORMAT, "version": VERSION, "model": encoder.model(self)}
        write_model(path, document, encoder.arrays)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : str or Path
            The file. Nothing in it is executed, and a damaged file raises a `DataError`.
        **parameters : object
            Values of parameters, instead of those in the file; required for those that could not be stored.

        Returns
        -------
        estimator
            The fitted model, whose predictions are the same as those of the saved one.
        """
        document, arrays = read_model(path)
        with reading(path, _EXPECTED):
            content = _model_in(path, document)
            if content["class"] not in _names_of(cls):
                raise broken(path, f"a {content['class']!s:.50}", f"a {cls.__name__}")
            if unknown := sorted(set(parameters) - set(content["parameters"])):
                raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}")
        missing = [
            (name, value["missing"])
            for name, value in content["parameters"].items()
            if isinstance(value, dict) and "missing" in value and name not in parameters
        ]
        if missing:
            name, what = missing[0]
            raise ValueError(
                f"{path} does not contain the parameter {name}, {what}: pass it, "
                f"{cls.__name__}.load(path, {name}=...)"
            )
        with reading(path, _EXPECTED):
            return _Decoder(arrays).model(content, parameters)

    def _after_load(self) -> None:
        """Restore what is not stored."""


def remembers_arguments(cls: type) -> type:
    """Decorate a class whose objects are stored as the arguments of their constructor."""
    construct, names = cls.__init__, signature(cls.__init__)

    @wraps(construct)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if _ARGUMENTS not in vars(self):  # else this is the constructor of a base class
            bound = names.bind(self, *args, **kwargs)
            given = dict(list(bound.arguments.items())[1:])
            object.__setattr__(self, _ARGUMENTS, given)
        construct(self, *args, **kwargs)

    cls.__init__ = __init__
    return cls


class _UnknownError(ValueError):
    """An object that files cannot contain."""


class _Encoder:
    """Turns values into what JSON can represent; arrays are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray] = {}
        self._names: dict[int, str] = {}
        self._kept: list[NDArray] = []  # so that no identity is reused
        self._passed: dict[int, list] = {}  # where `load` finds an object that is not stored

    def model(self, estimator: BaseEstimator) -> dict[str, Any]:
        kind = _known_name(estimator)
        given = estimator.get_params(deep=False)
        parameters = {name: self._parameter(name, value) for name, value in given.items()}
        attributes = {}
        for name, value in vars(estimator).items():
            if name in given or name in estimator._unsaved:
                continue
            try:
                with self._undone_on_error():
                    attributes[name] = self.value(value)
            except _UnknownError as error:
                if name not in estimator._optional:
                    raise ValueError(f"{kind} cannot be saved: {name} holds {error}") from error
        return {"class": kind, "parameters": parameters, "attributes": attributes}

    def _parameter(self, name: str, value: Any) -> Any:
        try:
            with self._undone_on_error():
                return self.value(value)
        except _UnknownError as error:
            items = value if isinstance(value, list | tuple) else ()
            self._passed |= {id(item): [name, place] for place, item in enumerate(items)}
            self._passed[id(value)] = [name]
            return {"missing": str(error)}

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """Forget the arrays of a value that turned out to contain an unknown object."""
        before = len(self.arrays)
        try:
            yield
        except _UnknownError:
            for name in list(self.arrays)[before:]:
                self._names.pop(id(self.arrays.pop(name)), None)
            raise

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.value(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.value(key), self.value(item)] for key, item in value.items()]}
        if sparse.issparse(value):
            return self._matrix(value)
        return self._object(value)

    def _array(self, array: NDArray) -> dict[str, Any]:
        if array.dtype.kind == "O":
            return {"objects": [self.value(item) for item in array.ravel()], "shape": list(array.shape)}
        if array.dtype.kind not in "biufU":
            raise _UnknownError(f"an array of type {array.dtype}")
        if id(array) not in self._names:
            self._names[id(array)] = name = str(len(self.arrays))
            self.arrays[name] = np.asarray(array)
            self._kept.append(array)
        return {"array": self._names[id(array)]}

    def _matrix(self, matrix: Any) -> dict[str, Any]:
        kind = type(matrix).__name__
        if kind not in _MATRICES:
            raise _UnknownError(f"a {kind}")
        parts = {name: self._array(getattr(matrix, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": kind, "shape": [int(size) for size in matrix.shape], **parts}

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if (kind.__module__, kind.__name__) in _LEFT_OUT:
            return None
        if id(value) in self._passed:
            return {"parameter": self._passed[id(value)]}
        name = _known_name(value)
        if isinstance(value, BaseEstimator):
            return self.model(value)
        if _ARGUMENTS in vars(value):
            return {"class": name, "arguments": self._all(vars(value)[_ARGUMENTS])}
        if is_dataclass(value):
            given = {field.name: getattr(value, field.name) for field in fields(value)}
            return {"class": name, "arguments": self._all(given)}
        computed = {key for key in vars(value) if isinstance(getattr(kind, key, None), cached_property)}
        return {
            "class": name,
            "state": self._all({k: v for k, v in vars(value).items() if k not in computed}),
        }

    def _all(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.value(item) for name, item in values.items()}


class _Decoder:
    """Restores values from what `_Encoder` has returned."""

    def __init__(self, arrays: Mapping[str, NDArray]):
        self._arrays, self._given = arrays, {}
        self._readers: dict[str, Callable[[dict], Any]] = {
            "array": lambda content: self._arrays[content["array"]],
            "scalar": lambda content: self.value(content["scalar"])[()],
            "float": lambda content: _not_finite(content["float"]),
            "tuple": lambda content: tuple(self.value(item) for item in content["tuple"]),
            "dict": lambda content: {self.value(key): self.value(item) for key, item in content["dict"]},
            "objects": self._objects,
            "sparse": self._matrix,
            "parameter": self._parameter,
            "class": self._object,
        }

    def model(self, content: dict[str, Any], given: Mapping[str, Any]) -> Any:
        self._given = given
        stored = {name: value for name, value in content["parameters"].items() if name not in given}
        estimator = _class_of(content["class"])(**self._all(stored), **given)
        if not isinstance(estimator, SavedModel):
            raise ValueError(f"{content['class']!r} is not an estimator")
        vars(estimator).update(self._all(content["attributes"]))
        estimator._after_load()
        return estimator

    def value(self, content: Any) -> Any:
        if isinstance(content, list):
            return [self.value(item) for item in content]
        if not isinstance(content, dict):
            return content
        for kind, read in self._readers.items():
            if kind in content:
                return read(content)
        raise ValueError(f"{sorted(content)!s:.80} is no value")

    def _all(self, content: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(item) for name, item in content.items()}

    def _objects(self, content: dict[str, Any]) -> NDArray:
        array = np.empty(len(content["objects"]), dtype=object)
        array[:] = [self.value(item) for item in content["objects"]]
        return array.reshape(content["shape"])

    def _parameter(self, content: dict[str, Any]) -> Any:
        name, *place = content["parameter"]
        return self._given[name][place[0]] if place else self._given[name]

    def _matrix(self, content: dict[str, Any]) -> Any:
        if content["sparse"] not in _MATRICES:
            raise ValueError(f"{content['sparse']!r:.50} is no sparse matrix")
        parts = tuple(self.value(content[name]) for name in ("data", "indices", "indptr"))
        matrix = getattr(sparse, content["sparse"])(parts, shape=tuple(content["shape"]))
        sound_csr(matrix, "a sparse matrix")  # raises if indices point elsewhere
        return matrix

    def _object(self, content: dict[str, Any]) -> Any:
        if "parameters" in content:
            return _Decoder(self._arrays).model(content, {})
        kind = _class_of(content["class"])
        if "arguments" in content:
            return kind(**self._all(content["arguments"]))
        value = kind.__new__(kind)
        vars(value).update(self._all(content["state"]))
        return value


def _known_name(value: Any) -> str:
    """Return the name of the class of an object, or raise an `_UnknownError`."""
    kind = type(value)
    if _MODULES.get(kind.__name__) != kind.__module__:
        described = "a function" if callable(value) and not isinstance(value, type) else "an object"
        raise _UnknownError(f"{described} of type {kind.__module__}.{kind.__qualname__}")
    return kind.__name__


def _names_of(cls: type) -> set[str]:
    """Return the names of a class and of its known subclasses."""
    return {cls.__name__} | {name for child in cls.__subclasses__() for name in _names_of(child)}


def _class_of(name: Any) -> type:
    """Return a class of `CLASSES`, or raise a ValueError."""
    if not isinstance(name, str) or name not in _MODULES:
        raise ValueError(f"the class {name!r:.50} is not known")
    return getattr(import_module(_MODULES[name]), name)


def _model_in(path: str | Path, document: Any) -> dict[str, Any]:
    """Return the content of the model in a document, or raise a `DataError`."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise broken(path, "another format", _EXPECTED)
    version = document.get("version")
    if version != VERSION:
        raise broken(path, f"version {version!r:.20} of the format", f"version {VERSION}: update ermlab")
    return document["model"]


def _not_finite(text: str) -> float:
    number = float(text)
    if math.isfinite(number):
        raise ValueError(f"{text!r} is stored as a number that is not finite")
    return number
