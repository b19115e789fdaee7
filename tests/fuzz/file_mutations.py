"""Seeded damage to files: bytes, text, and the structures of formats that random bytes would rarely reach."""

import gzip
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from xml.etree import ElementTree

import nibabel as nib
import numpy as np
import yaml

Rng = np.random.Generator
#: What stands in for a number in a text, or for any word.
WORDS = (
    *(
        "-1",
        "0",
        "1",
        "2",
        "255",
        "256",
        "65536",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
    ),
    *(
        "9223372036854775808",
        "99999999999999999999999999",
        "9" * 5000,
        "1.5",
        "-0.0",
        "1e400",
        "-1e400",
        "1e300",
    ),
    *(
        "nan",
        "NaN",
        "inf",
        "-inf",
        "abc",
        "0x10",
        "1_0",
        "\u0663",
        "\u00e4",
        ",",
        ":",
        "#",
        "[",
        "<",
        "&a",
        "*a",
    ),
    *("", " ", "\0", "\n", "a" * 70_000),
)
#: What stands in for any value of a document.
VALUES = (
    None,
    True,
    -1,
    0,
    10**30,
    10**400,
    2**63,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "text",
    "../..",
)
COLLECTIONS = ([], {}, [[]], {"a": 1}, [1, "a"], [10**30])
INTEGERS = (0, 1, 2, 3, 4, 7, 8, 16, 127, 128, 255, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1)


def pick(rng: Rng, choices):
    return choices[int(rng.integers(len(choices)))]


def flip(data: bytes, rng: Rng) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 8)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncate(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(len(data))]


def insert(data: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(len(data)))
    return data[:place] + rng.bytes(int(rng.integers(1, 40))) + data[place:]


def repeat(data: bytes, rng: Rng) -> bytes:
    start, end = sorted(rng.integers(len(data) + 1, size=2).tolist())
    return data[:end] + data[start:end] * int(rng.integers(1, 4)) + data[end:]


def remove(data: bytes, rng: Rng) -> bytes:
    start, end = sorted(rng.integers(len(data) + 1, size=2).tolist())
    return data[:start] + data[end:]


def overwrite(data: bytes, rng: Rng) -> bytes:
    """Put a number that is large, negative or not finite somewhere, more often near the begin."""
    number = pick(rng, [struct.pack(pick(rng, "<>") + "I", pick(rng, INTEGERS)), struct.pack("<i", -1)])
    number = pick(rng, [number, number[:2], struct.pack("<f", pick(rng, [np.nan, np.inf, -1e30]))])
    place = int(rng.integers(min(len(data), pick(rng, [64, 400, len(data)]))))
    return data[:place] + number + data[place + len(number) :]


def empty(data: bytes, rng: Rng) -> bytes:
    return b""


def noise(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(9)] + rng.bytes(int(rng.integers(200)))


BYTES = (flip, flip, truncate, insert, repeat, remove, overwrite, overwrite, empty, noise)


def words(data: bytes, rng: Rng) -> bytes:
    """Replace a number or a word by one of `WORDS`."""
    text = data.decode("utf-8", errors="replace")
    found = list(re.finditer(pick(rng, [r"-?\d+(\.\d+)?", r"\w+", r"[^\w\s]"]), text))
    if not found:
        return noise(data, rng)
    where = pick(rng, found)
    return (text[: where.start()] + pick(rng, WORDS) + text[where.end() :]).encode()


def lines(data: bytes, rng: Rng) -> bytes:
    """Leave out, repeat or exchange lines."""
    rows = data.splitlines(keepends=True) or [b""]
    one, other = pick(rng, range(len(rows))), pick(rng, range(len(rows)))
    action = pick(rng, ["drop", "twice", "swap"])
    if action == "drop":
        del rows[one]
    elif action == "twice":
        rows.insert(one, rows[other])
    else:
        rows[one], rows[other] = rows[other], rows[one]
    return b"".join(rows)


TEXT = (words, words, words, lines)


def change_node(document, rng: Rng):
    """Replace, leave out or rename some value of nested lists and mappings."""
    if not isinstance(document, dict | list) or not document or rng.random() < 0.1:
        return pick(rng, VALUES + COLLECTIONS)
    key = pick(rng, list(document) if isinstance(document, dict) else range(len(document)))
    if rng.random() < 0.2:
        value = document.pop(key)
        if isinstance(document, dict) and rng.random() < 0.5:
            document[pick(rng, ["id", "other", 1, None])] = value
    else:
        document[key] = change_node(document[key], rng)
    return document


def json_node(data: bytes, rng: Rng) -> bytes:
    try:
        return json.dumps(change_node(json.loads(data), rng)).encode()
    except TypeError:  # keys of two types cannot be sorted
        return b"{}"


def json_nesting(data: bytes, rng: Rng) -> bytes:
    return data.replace(b"1", pick(rng, [b"[", b'{"a":']) * 100_000, 1)


def yaml_node(data: bytes, rng: Rng) -> bytes:
    return yaml.safe_dump(change_node(yaml.safe_load(data), rng)).encode()


def yaml_nesting(data: bytes, rng: Rng) -> bytes:
    return data + pick(rng, [b"\nz: " + b"[" * 100_000, b"\nz: " + b"{a: " * 20_000, b"\n" + b"- " * 20_000])


def yaml_aliases(data: bytes, rng: Rng) -> bytes:
    """Add a mapping that holds itself, or one of 10 ** 30 entries."""
    rows = [f"z{i}: &z{i} [{', '.join([f'*z{i - 1}'] * 10)}]" for i in range(1, 30)]
    return data + pick(rng, [b"\nz: &z [*z]\n", ("\nz0: &z0 [a]\n" + "\n".join(rows)).encode()])


def xml_node(data: bytes, rng: Rng) -> bytes:
    root = ElementTree.fromstring(data)
    parent = pick(rng, [item for item in root.iter() if len(item)])
    child = pick(rng, list(parent))
    action = pick(rng, ["drop", "twice", "text", "tag"])
    if action == "drop":
        parent.remove(child)
    elif action == "twice":
        parent.append(child)
    elif action == "tag":
        child.tag = pick(rng, ["object", "bndbox", "name", "other"])
    else:
        child.text = pick(rng, [word for word in WORDS if "\0" not in word])
    return ElementTree.tostring(root)


def xml_nesting(data: bytes, rng: Rng) -> bytes:
    return data.replace(b"<object>", b"<object>" * 50_000, 1)


def tiff_entry(data: bytes, rng: Rng) -> bytes:
    """Leave out or change an entry of a directory of a TIFF file, or the place of the next directory."""
    changed = bytearray(data)
    directory = struct.unpack_from("<I", data, 4)[0]
    count = struct.unpack_from("<H", data, directory)[0]
    entry = directory + 2 + 12 * int(rng.integers(count))
    action = pick(rng, ["drop", "tag", "type", "count", "value", "value", "next"])
    if action == "drop":
        end = directory + 2 + 12 * count
        changed[entry : end - 12] = changed[entry + 12 : end]
        struct.pack_into("<H", changed, directory, count - 1)
    elif action == "next":
        place = pick(rng, [directory, 8, 2**31, len(data) - 9])
        struct.pack_into("<I", changed, directory + 2 + 12 * count, place)
    else:
        offset, form = {"tag": (0, "<H"), "type": (2, "<H"), "count": (4, "<I"), "value": (8, "<I")}[action]
        largest = 2**16 if form == "<H" else 2**32
        number = pick(rng, [*INTEGERS, int(rng.integers(70_000))]) % largest
        struct.pack_into(form, changed, entry + offset, number)
    return bytes(changed)


def nifti_field(data: bytes, rng: Rng) -> bytes:
    """Change a random field of the header."""
    packed = data[:2] == b"\x1f\x8b"
    content = bytearray(gzip.decompress(data) if packed else data)
    header = np.frombuffer(bytes(content[:348]), dtype=nib.Nifti1Header.template_dtype).copy()
    field = header[pick(rng, list(header.dtype.names))]
    flat = field.reshape(-1)
    place = int(rng.integers(flat.size))
    if flat.dtype.kind == "f":
        flat[place] = pick(rng, [np.nan, np.inf, -np.inf, 0, -1, 1e30, 1e-30])
    elif flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        flat[place] = pick(rng, [limits.min, limits.max, 0, 1, 2, 3, 7, 9, int(rng.integers(limits.max))])
    else:
        flat[place] = rng.bytes(flat.dtype.itemsize)
    content[:348] = header.tobytes()
    return gzip.compress(bytes(content)) if packed else bytes(content)


def within_gzip(change: Callable[[bytes, Rng], bytes]) -> Callable[[bytes, Rng], bytes]:
    return lambda data, rng: gzip.compress(change(gzip.decompress(data), rng))


def npz_member(data: bytes, rng: Rng) -> bytes:
    """Damage, leave out or exchange an array, or the header of one."""
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        members = {name: container.read(name) for name in container.namelist()}
    name = pick(rng, list(members))
    action = pick(rng, ["bytes", "drop", "shape", "dtype", "array", "array"])
    if action == "bytes":
        members[name] = pick(rng, BYTES)(members[name], rng)
    elif action == "drop":
        del members[name]
    elif action == "shape":
        shape = pick(rng, [b"(9999999999,)", b"(-1,)", b"(99999, 999999)", b"()", b"(10**99,)", b"('a',)"])
        members[name] = re.sub(rb"'shape': \([^)]*\)", b"'shape': " + shape, members[name])
    elif action == "dtype":
        kind = pick(rng, [b"'|O'", b"'<f8'", b"'<c16'", b"'|S3'", b"[('a', '<i4')]", b"'nonsense'", b"7"])
        members[name] = re.sub(rb"'descr': '[^']*'", b"'descr': " + kind, members[name])
    else:
        values = [
            np.zeros(0),
            np.array(3),
            np.array("text"),
            np.full((2, 2, 2), np.nan),
            np.array([2**63], "u8"),
        ]
        file = io.BytesIO()
        np.save(file, pick(rng, values))
        members[name] = file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as container:
        for member, content in members.items():
            container.writestr(member, content)
    return file.getvalue()


#: Mutations for the files of each ending.
MUTATIONS = {
    ".tif": (*BYTES, *[tiff_entry] * 12),
    ".nii": (*BYTES, *[nifti_field] * 12),
    ".hdr": (*BYTES, *[nifti_field] * 12),
    ".gz": (*BYTES, *[nifti_field] * 12, *[within_gzip(change) for change in BYTES]),
    ".txt": (*BYTES, *TEXT * 4),
    ".tsv": (*BYTES, *TEXT * 4),
    ".csv": (*BYTES, *TEXT * 4),
    ".json": (*BYTES, *TEXT * 2, *[json_node] * 8, json_nesting),
    ".yaml": (*BYTES, *TEXT * 2, *[yaml_node] * 8, yaml_nesting, yaml_aliases),
    ".xml": (*BYTES, *TEXT * 2, *[xml_node] * 8, xml_nesting),
    ".npz": (*BYTES, *[npz_member] * 10),
}


def mutate(data: bytes, suffix: str, rng: Rng) -> tuple[str, bytes]:
    """Return the name of a random mutation for files of this ending, and the damaged content."""
    change = pick(rng, MUTATIONS.get(suffix, BYTES))
    damaged = change(data, rng)
    while rng.random() < 0.2:
        damaged = pick(rng, BYTES)(damaged or b"?", rng)
    return change.__name__, damaged
