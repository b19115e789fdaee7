"""Read pickles of numeric arrays without running anything that they contain.

A pickle is a program that may call any function. `read_array_pickle` interprets the few instructions that
lists, dictionaries, texts, numbers and numeric arrays need, and refuses every other one; it imports nothing
and calls nothing that the file names.
"""

import io
import math
import pickletools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ermlab._utils.files import read_bytes, reading

#: What a file may name, and how it is understood. The names depend on the version of NumPy that wrote it.
_GLOBALS = {
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy ndarray": "type",
    "numpy dtype": "dtype",
}
#: Numeric types without objects or fields.
_DTYPE = re.compile(r"b1|[iu][1248]|f[48]")


def read_array_pickle(path: Path) -> Any:
    """Return the content of a pickle of protocol 2 or 3, written by Python 2 or 3.

    Texts of Python 2 are decoded as Latin-1.

    Raises
    ------
    DataError
        If the file is damaged, or holds anything but lists, tuples, dictionaries, texts, numbers and numeric
        arrays.
    """
    content = read_bytes(path)
    with reading(path, "a pickle of numeric arrays"):
        return _Interpreter().run(content)


class _Global:
    """A name in the file, which stands for a part of an array."""

    def __init__(self, meaning: str):
        self.meaning = meaning


class _Unfinished:
    """An array or a data type that a later instruction completes."""

    def __init__(self, complete: Callable[[Any], Any]):
        self.complete = complete
        self.keys: list[int] = []  #: where the memo has it


class _Interpreter:
    """The stack, its marks and the memo of one file."""

    def __init__(self):
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(io.BytesIO(content)):
            if opcode.name == "STOP":
                break
            if opcode.name in _VALUES:
                self._stack.append(argument)
            elif opcode.name in _ACTIONS:
                _ACTIONS[opcode.name](self, argument)
            else:
                raise ValueError(f"the instruction {opcode.name}")
        (result,) = self._stack
        return result

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise ValueError("an instruction without its operands")
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise ValueError(f"an instruction that needs a {kind.__name__}")
        return self._stack[-1]

    def mark(self, _: None) -> None:
        self._marks.append(len(self._stack))

    def empty_list(self, _: None) -> None:
        self._stack.append([])

    def empty_dict(self, _: None) -> None:
        self._stack.append({})

    def constant(self, value: bool | None) -> None:
        self._stack.append(value)

    def make_tuple(self, length: int | None) -> None:
        items = self._pop_to_mark() if length is None else [self._pop() for _ in range(length)][::-1]
        self._stack.append(tuple(items))

    def append(self, _: None) -> None:
        item = self._pop()
        self._top(list).append(item)

    def appends(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(list).extend(items)

    def set_item(self, _: None) -> None:
        value, key = self._pop(), self._pop()
        self._top(dict)[_text(key)] = value

    def set_items(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(dict).update(zip(map(_text, items[::2]), items[1::2], strict=True))

    def put(self, key: int) -> None:
        top = self._memo[key] = self._stack[-1]
        if type(top) is _Unfinished:
            top.keys.append(key)

    def get(self, key: int) -> None:
        self._stack.append(self._memo[key])

    def name(self, name: str) -> None:
        if name not in _GLOBALS:
            raise ValueError(f"the name {name[:60]!r}")
        self._stack.append(_Global(_GLOBALS[name]))

    def reduce(self, _: None) -> None:
        """Begin an array or a data type instead of a call."""
        arguments, function = self._pop(), self._pop()
        meaning = function.meaning if type(function) is _Global else None
        if meaning == "dtype":
            name = _text(arguments[0])
            self._stack.append(_Unfinished(lambda state: _dtype(name, state)))
        elif meaning == "array":
            self._stack.append(_Unfinished(_array))
        else:
            raise ValueError("a call of anything but an array")

    def build(self, _: None) -> None:
        """Complete the array or data type on the stack, and wherever the memo has it."""
        state, unfinished = self._pop(), self._top(_Unfinished)
        finished = unfinished.complete(state)
        self._stack[-1] = finished
        self._memo.update(dict.fromkeys(unfinished.keys, finished))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"a {type(value).__name__} instead of a text")
    return value


def _dtype(name: str, state: tuple) -> np.dtype:
    """Return a data type from its name and its state (version, byte order, ...)."""
    if not _DTYPE.fullmatch(name) or state[1] not in ("<", ">", "|"):
        raise ValueError(f"arrays of the type {name[:20]!r}")
    return np.dtype(name).newbyteorder(state[1])


def _array(state: tuple) -> np.ndarray:
    """Return an array from its state (version, shape, data type, whether in Fortran order, bytes)."""
    _, shape, dtype, fortran, data = state
    if not isinstance(dtype, np.dtype):
        raise ValueError("an array without a data type")
    if type(shape) is not tuple or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("an array without a shape")
    data = data.encode("latin-1") if type(data) is str else data
    if type(data) is not bytes or len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"an array of shape {shape} with other than its number of bytes")
    values = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return values.astype(dtype.newbyteorder("="))


#: Instructions that push their argument.
_VALUES = frozenset(
    (
        *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
        *("BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "BINBYTES", "SHORT_BINBYTES"),
    )
)
_ACTIONS: dict[str, Callable[[_Interpreter, Any], None]] = {
    "PROTO": lambda interpreter, argument: None,
    "MARK": _Interpreter.mark,
    "EMPTY_LIST": _Interpreter.empty_list,
    "EMPTY_DICT": _Interpreter.empty_dict,
    "NONE": lambda interpreter, _: interpreter.constant(None),
    "NEWTRUE": lambda interpreter, _: interpreter.constant(True),
    "NEWFALSE": lambda interpreter, _: interpreter.constant(False),
    "EMPTY_TUPLE": lambda interpreter, _: interpreter.make_tuple(0),
    "TUPLE1": lambda interpreter, _: interpreter.make_tuple(1),
    "TUPLE2": lambda interpreter, _: interpreter.make_tuple(2),
    "TUPLE3": lambda interpreter, _: interpreter.make_tuple(3),
    "TUPLE": lambda interpreter, _: interpreter.make_tuple(None),
    "APPEND": _Interpreter.append,
    "APPENDS": _Interpreter.appends,
    "SETITEM": _Interpreter.set_item,
    "SETITEMS": _Interpreter.set_items,
    "BINPUT": _Interpreter.put,
    "LONG_BINPUT": _Interpreter.put,
    "BINGET": _Interpreter.get,
    "LONG_BINGET": _Interpreter.get,
    "GLOBAL": _Interpreter.name,
    "REDUCE": _Interpreter.reduce,
    "BUILD": _Interpreter.build,
}
