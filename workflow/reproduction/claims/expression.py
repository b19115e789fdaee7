"""A small language for claims: arithmetic and comparisons on an experiment's results, and nothing else.

Names refer to results, `a.b` and `a["b"]` look into mappings, `a[0]` and `a[0:3]` into lists. Lists take
part element by element; `all` and `any` turn them into one truth value. No other object is ever reached:
a dotted name is a look-up in a mapping, never an attribute.

Every number is an array whose last axis enumerates draws of uncertain results, as `uncertainty.draw` returns
them; it has length 1 for a number that is certain. An expression is thus evaluated for all draws at once.
"""

import ast
import operator
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

_LONGEST = 600
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class MissingValue(LookupError):
    """The results do not hold a value that the expression names."""


def parse(text: str) -> ast.expr:
    """Return the syntax tree of an expression, or raise ValueError if it goes beyond the language."""
    if len(text) > _LONGEST:
        raise ValueError(f"the expression has {len(text)} characters: at most {_LONGEST} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not an expression: {error}") from None
    for node in ast.walk(tree):
        _refuse_foreign(node, text)
    return tree


def names(tree: ast.expr) -> set[str]:
    """Return the results that an expression starts from: `eer` of `all(eer.ssvm[0:3] < 1)`.

    Measured seconds keep their second part, `timings.seconds`.
    """
    found = set()
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    timings = {
        id(node.value): f"timings.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "timings"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in functions:
            found.add(timings.get(id(node), node.id))
    return found


def operands(tree: ast.expr, values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the results that an expression computes with: the third number of ``eer.ssvm[2] < 1``."""
    if isinstance(tree, ast.Name | ast.Attribute | ast.Subscript):
        yield _look_into(tree, values)
        return
    parts = tree.args if isinstance(tree, ast.Call) else ast.iter_child_nodes(tree)
    for part in parts:
        if isinstance(part, ast.expr):
            yield from operands(part, values)


def _look_into(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return the result at the place that a name, with attributes and subscripts, leads to."""
    if isinstance(node, ast.Name):
        return _look_up(values, node.id, "the results")
    if isinstance(node, ast.Attribute):
        return _look_up(_look_into(node.value, values), node.attr, ast.unparse(node.value))
    found = _look_into(node.value, values)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return _look_up(found, node.slice.value, ast.unparse(node.value))
    if isinstance(node.slice, ast.Slice):
        return found[slice(*(_whole(part, {}) for part in (node.slice.lower, node.slice.upper)))]
    return found[_whole(node.slice, {})]


def evaluate(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """Evaluate a parsed expression on results; the last axis of the value enumerates the draws.

    Parameters
    ----------
    values
        Results whose numbers are arrays of shape (1,) or (n_draws,), and lists and mappings of these.
    """
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            return _evaluate(tree, values)
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"{ast.unparse(tree)!r} cannot be computed: {error}") from error


def _refuse_foreign(node: ast.AST, text: str) -> None:
    """Raise ValueError for a node outside the language."""
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        if not named or node.keywords or not node.args:
            raise ValueError(
                f"{text!r} calls {ast.unparse(node.func)!r}: only {', '.join(_FUNCTIONS)} can be called"
            )
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float | str):
            raise ValueError(f"{text!r} holds {node.value!r}: only numbers can be written out")
    elif isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name.startswith("_"):
            raise ValueError(f"{text!r} names {name!r}: no result starts with an underscore")
    elif not isinstance(node, _PLAIN_NODES):
        raise ValueError(f"{text!r} uses {type(node).__name__}: not part of the language of claims")


_PLAIN_NODES = (
    ast.expr_context,
    ast.Subscript,
    ast.Slice,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.UAdd,
    ast.Not,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.Compare,
    *_ARITHMETIC,
    *_COMPARISONS,
)


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            raise ValueError(f"{node.value!r} is text: text is only allowed in brackets, as a name")
        return np.array([float(node.value)])
    if isinstance(node, ast.Name):
        return _look_up(values, node.id, "the results")
    if isinstance(node, ast.Attribute):
        return _look_up(_evaluate(node.value, values), node.attr, ast.unparse(node.value))
    if isinstance(node, ast.Subscript):
        return _subscript(node, _evaluate(node.value, values), values)
    if isinstance(node, ast.BinOp):
        left, right = (_numbers(_evaluate(side, values), node) for side in (node.left, node.right))
        return _ARITHMETIC[type(node.op)](*_same_shape(left, right, node))
    if isinstance(node, ast.UnaryOp):
        return _unary(node, _evaluate(node.operand, values))
    if isinstance(node, ast.BoolOp):
        return _connect(node, values)
    if isinstance(node, ast.Compare):
        return _compare(node, values)
    arguments = [_numbers(_evaluate(argument, values), node) for argument in node.args]
    return _FUNCTIONS[node.func.id](arguments, node)


def _look_up(mapping: Any, name: str, place: str) -> Any:
    if not isinstance(mapping, Mapping):
        raise ValueError(f"{place} is not a mapping: it has no {name!r}")
    if name not in mapping:
        raise MissingValue(f"there is no {name!r} in {place}")
    return mapping[name]


def _subscript(node: ast.Subscript, value: Any, values: Mapping[str, Any]) -> Any:
    place = ast.unparse(node.value)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return _look_up(value, node.slice.value, place)
    array = _numbers(value, node)
    if array.ndim == 1:
        raise ValueError(f"{place} is one number: it has no elements")
    if isinstance(node.slice, ast.Slice):
        bounds = [_whole(part, values) for part in (node.slice.lower, node.slice.upper)]
        if node.slice.step is not None:
            raise ValueError(f"{ast.unparse(node)!r}: a slice has no step here")
        longest = max((abs(bound) for bound in bounds if bound is not None), default=0)
        if longest > len(array):
            raise MissingValue(f"{place} has {len(array)} elements, {ast.unparse(node)} asks for more")
        return array[slice(*bounds)]
    index = _whole(node.slice, values)
    if not -len(array) <= index < len(array):
        raise MissingValue(f"{place} has {len(array)} elements, {ast.unparse(node)} asks for more")
    return array[index]


def _whole(node: ast.expr | None, values: Mapping[str, Any]) -> int | None:
    """Return a position as an integer."""
    if node is None:
        return None
    number = _numbers(_evaluate(node, values), node)
    if number.shape != (1,) or number.dtype.kind == "b" or number[0] != int(number[0]):
        raise ValueError(f"{ast.unparse(node)!r} is not a whole number: it cannot be a position in a list")
    return int(number[0])


def _numbers(value: Any, node: ast.expr) -> np.ndarray:
    return numbers(value, ast.unparse(node))


def numbers(value: Any, place: str) -> np.ndarray:
    """Return the value as an array of numbers or truth values, with the draws on the last axis."""
    if isinstance(value, Mapping):
        raise ValueError(f"{place!r} computes with a mapping: name one of {', '.join(value)}")
    if isinstance(value, list):
        parts = [numbers(item, place) for item in value]
        if len({part.shape[:-1] for part in parts}) > 1:
            raise ValueError(f"{place!r} computes with rows of unequal lengths")
        n_draws = max((part.shape[-1] for part in parts), default=1)
        parts = [np.broadcast_to(part, (*part.shape[:-1], n_draws)) for part in parts]
        return np.stack(parts) if parts else np.empty((0, 1))
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{place!r} computes with {array.tolist()!r:.60}: expected numbers")
    return array if array.dtype.kind == "b" else array.astype(float)


def _same_shape(left: np.ndarray, right: np.ndarray, node: ast.expr) -> tuple[np.ndarray, np.ndarray]:
    if left.ndim > 1 and right.ndim > 1 and left.shape[:-1] != right.shape[:-1]:
        raise ValueError(
            f"{ast.unparse(node)!r}: shapes {left.shape[:-1]} and {right.shape[:-1]} do not match"
        )
    return left, right


def _truth(value: Any, node: ast.expr) -> np.ndarray:
    if np.ndim(value) > 1:
        raise ValueError(f"{ast.unparse(node)!r} is a list: wrap it in all() or any()")
    if np.asarray(value).dtype.kind != "b":
        raise ValueError(f"{ast.unparse(node)!r} is not a truth value")
    return value


def _unary(node: ast.UnaryOp, value: Any) -> Any:
    if isinstance(node.op, ast.Not):
        return ~_truth(value, node.operand)
    number = _numbers(value, node.operand).astype(float)
    return -number if isinstance(node.op, ast.USub) else number


def _connect(node: ast.BoolOp, values: Mapping[str, Any]) -> np.ndarray:
    # Every part is evaluated, so that a missing value is found even when the first part decides.
    parts = [_truth(_evaluate(part, values), part) for part in node.values]
    return reduce(np.logical_and if isinstance(node.op, ast.And) else np.logical_or, parts)


def _compare(node: ast.Compare, values: Mapping[str, Any]) -> Any:
    sides = [_numbers(_evaluate(side, values), side) for side in (node.left, *node.comparators)]
    outcome = np.array([True])
    for compare, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
        pair = _same_shape(left, right, node)
        outcome = np.logical_and(*_same_shape(outcome, _COMPARISONS[type(compare)](*pair), node))
    return outcome


def _over_elements(function):
    """Return a call of one argument that combines all elements of a list, for each draw."""

    def call(arguments: list[np.ndarray], node: ast.Call) -> np.ndarray:
        (argument,) = _arguments(arguments, node)
        return function(argument.reshape(-1, argument.shape[-1]), axis=0)

    return call


def _arguments(arguments: list[np.ndarray], node: ast.Call) -> list[np.ndarray]:
    """Refuse more than one argument, and an empty one."""
    if len(arguments) != 1:
        raise ValueError(f"{ast.unparse(node)!r}: expected one argument, got {len(arguments)}")
    if arguments[0].size == 0:
        raise ValueError(f"{ast.unparse(node)!r}: the list is empty")
    return arguments


def _extreme(elementwise):
    """Return min or max: of the elements of one list, or element by element of several arguments."""

    def call(arguments: list[np.ndarray], node: ast.Call) -> np.ndarray:
        if len(arguments) == 1:
            return _over_elements(elementwise.reduce)(arguments, node)
        return reduce(lambda left, right: elementwise(*_same_shape(left, right, node)), arguments)

    return call


def _need_truths(function):
    def reduced(array: np.ndarray, axis: int) -> np.ndarray:
        if array.dtype.kind != "b":
            raise ValueError("all() and any() expect a comparison, not numbers")
        return function(array, axis=axis)

    return reduced


def _absolute(arguments: list[np.ndarray], node: ast.Call) -> np.ndarray:
    return np.abs(_arguments(arguments, node)[0])


_FUNCTIONS = {
    "all": _over_elements(_need_truths(np.all)),
    "any": _over_elements(_need_truths(np.any)),
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
    "abs": _absolute,
    "mean": _over_elements(np.mean),
}
