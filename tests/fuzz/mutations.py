"""Damages bytes and builds hostile texts and values with a seeded random generator."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

MAGICS = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0",
    b"RIFF", b"P6\n", b"P5 ", b"DDS ", b"8BPS", b"\0\0\1\0", b"\0\0\0\x1cftypavif",
    b"\0\0\0\x18ftypheic", b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51", b"qoif", b"icns",
    b"PK\3\4", b"\x80\2", b"\x1aE\xdf\xa3", b"%PDF", b"<!doctype html>", b"<svg", b"OggS\0\2",
    b"", b"\0" * 8, b"\xff" * 8,
)  # fmt: skip
NUMBERS = (
    "0", "-1", "1", "65535", "65536", "2147483647", "2147483648", "-2147483649", "4294967296",
    "9223372036854775807", "18446744073709551616", "1e308", "1e999", "-1e999", "nan", "inf",
    "0x7fffffff", "1_0", "٣", "9" * 400, "9" * 5000, "1.5", "+1", " 1", "",
)  # fmt: skip
WORDS = (
    "", " ", "\0", "\n", "\r\n", "\x1b[2J\x1b]0;x\x07", "a\tb", "\u202eabc", "\ufeff", "\u2028",
    "'", '"', "`", "\\", "{}", "{0}", "%s%n", "<b>bold</b>", "../../etc/passwd", "/etc/passwd",
    "/dev/zero", ".", "..", "a/b", "nul", "x" * 300, "x" * 100_000, "é" * 200, "\U0001f600" * 64,
    "\ud800", "-rf", "--help", "~", "$HOME", "camera:0", "scene", "file:///etc/passwd",
)  # fmt: skip
BOUNDS = (0, 1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 20, 1 << 24, (1 << 31) - 1)


def damaged(rng: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Apply one to eight mutations to `data`; some insert parts of `others`."""
    for _ in range(min(1 + int(rng.expovariate(0.6)), 8)):
        if others and rng.random() < 0.05:
            data = _spliced(rng, data, rng.choice(others))
        else:
            data = rng.choice(MUTATIONS)(rng, data)
    return data


def _place(rng: Random, data: bytes) -> int:
    """Return a position in `data`, preferably near its start, where headers are."""
    if rng.random() < 0.5:
        return rng.randrange(min(len(data), 64) + 1)
    return rng.randrange(len(data) + 1)


def _length(rng: Random, data: bytes) -> int:
    return rng.randint(1, max(1, min(len(data), rng.choice((1, 4, 16, 64, 512, 4096)))))


def _flip(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 32)) if data else 0):
        changed[min(_place(rng, data), len(data) - 1)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _cut_a_little(rng: Random, data: bytes) -> bytes:
    return data[: max(len(data) - rng.randint(1, 16), 0)]


def _remove(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + _length(rng, data) :]


def _repeat(rng: Random, data: bytes) -> bytes:
    at, length = _place(rng, data), _length(rng, data)
    times = rng.choice((1, 1, 1, 2, 10, 1000 if length < 64 else 2))
    return data[:at] + data[at : at + length] * times + data[at:]


def _blank(rng: Random, data: bytes) -> bytes:
    at, length = _place(rng, data), _length(rng, data)
    fill = rng.choice((b"\0", b"\xff", b" "))
    return data[:at] + fill * len(data[at : at + length]) + data[at + length :]


def _noise(rng: Random, data: bytes) -> bytes:
    at, length = _place(rng, data), _length(rng, data)
    kept = rng.choice((0, length))
    return data[:at] + rng.randbytes(length) + data[at + kept :]


def _integer(rng: Random, data: bytes) -> bytes:
    """Overwrite an integer of 1, 2, 4 or 8 bytes, like most lengths, offsets and counts."""
    size = rng.choice((1, 2, 4, 8))
    at = _place(rng, data)
    value = rng.choice((*BOUNDS, -1, -2, 1 << 31, (1 << 32) - 1, 1 << 62, rng.getrandbits(64)))
    written = (value % (1 << (8 * size))).to_bytes(size, rng.choice(("little", "big")))
    return data[:at] + written + data[at + size :]


def _magic(rng: Random, data: bytes) -> bytes:
    magic = rng.choice(MAGICS)
    return magic + data[rng.choice((0, len(magic))) :]


def _number(rng: Random, data: bytes) -> bytes:
    """Replace a number written in digits, or insert one anywhere."""
    number = rng.choice(NUMBERS).encode()
    written = list(re.finditer(rb"-?\d+", data[:4096]))
    if written:
        found = rng.choice(written)
        return data[: found.start()] + number + data[found.end() :]
    at = _place(rng, data)
    return data[:at] + number + data[at:]


def _word(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(WORDS).encode("utf-8", "surrogatepass") + data[at:]


def _run(rng: Random, data: bytes) -> bytes:
    """Insert a long run of one short string, sometimes megabytes."""
    at = _place(rng, data)
    size = rng.choice((1 << 10, 1 << 14, 1 << 16, 1 << 16, 1 << 22 if rng.random() < 0.1 else 1))
    part = rng.choice((b" ", b"\n", b"0", b"9", b"[", b'{"a":', b"(", b"#\n", b"\0", b"\xff"))
    return data[:at] + part * (size // len(part)) + data[at:]


def _swap(rng: Random, data: bytes) -> bytes:
    a, b = sorted((_place(rng, data), _place(rng, data)))
    length = _length(rng, data)
    return data[:a] + data[b : b + length] + data[a + length : b] + data[a : a + length] + data[b:]


def _spliced(rng: Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip, _flip, _flip, _cut, _cut_a_little, _remove, _repeat, _blank, _noise, _integer, _integer,
    _integer, _magic, _number, _word, _run, _swap,
)  # fmt: skip


def value(rng: Random, depth: int = 0) -> Any:
    """Return a value that JSON can store and that few readers expect."""
    kind = rng.randrange(10 if depth < 3 else 7)
    if kind < 3:
        return rng.choice(WORDS)
    if kind < 5:
        return rng.choice((0, -1, 1, 1 << 31, 1 << 63, -(1 << 63), 10**30, 0.5, -0.0, 1e308))
    if kind == 5:
        return rng.choice((float("nan"), float("inf"), float("-inf"), 10**400))
    if kind == 6:
        return rng.choice((None, True, False))
    if kind == 7:
        return {rng.choice(WORDS): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    if rng.random() < 0.1:
        return [rng.choice(WORDS[:20])] * 1000
    return [value(rng, depth + 1) for _ in range(rng.randrange(4))]


def altered(rng: Random, tree: Any) -> Any:
    for _ in range(rng.randint(1, 3)):
        tree = _altered(rng, tree)
    return tree


def _altered(rng: Random, tree: Any) -> Any:
    if isinstance(tree, Mapping) and tree and rng.random() < 0.9:
        key = rng.choice(list(tree))
        act = rng.random()
        if act < 0.1:
            return {name: kept for name, kept in tree.items() if name != key}
        if act < 0.2:
            return {**tree, rng.choice(WORDS): value(rng)}
        if act < 0.25:
            return {rng.choice(WORDS) if n == key else n: kept for n, kept in tree.items()}
        return {**tree, key: _altered(rng, tree[key])}
    if isinstance(tree, list) and tree and rng.random() < 0.9:
        at = rng.randrange(len(tree))
        act = rng.random()
        if act < 0.15:
            return tree[:at] + tree[at + 1 :]
        if act < 0.3:
            return tree[:at] + [tree[at]] * rng.choice((2, 30)) + tree[at:]
        return [*tree[:at], _altered(rng, tree[at]), *tree[at + 1 :]]
    if isinstance(tree, bool) or tree is None or rng.random() < 0.5:
        return value(rng)
    if isinstance(tree, int | float):
        return rng.choice((-tree, tree + 1, tree * 10**9, type(tree)(0), str(tree)))
    if isinstance(tree, str):
        return rng.choice((tree[:100] * 900, tree.upper(), rng.choice(WORDS) + tree, tree[:-1]))
    return value(rng)


def as_json(rng: Random, tree: Any) -> bytes:
    """Return `tree` as a JSON file: altered, with damaged text, or unchanged."""
    act = rng.random()
    if act < 0.65:
        tree = altered(rng, tree)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    data = text.encode("utf-8", "surrogatepass")
    return damaged(rng, data) if act > 0.6 else data


def as_toml(rng: Random, table: Mapping[str, Any]) -> bytes:
    """Return `table` as a TOML file: altered, with damaged text, or unchanged."""
    act = rng.random()
    if act < 0.65:
        changed = altered(rng, dict(table))
        table = changed if isinstance(changed, dict) else dict(table)
    lines = [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items()]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return damaged(rng, data) if act > 0.6 else data


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml_key(k)} = {_toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, float):
        return repr(value)  # TOML has the words nan and inf too
    return '""' if value is None else str(value).lower()


def damaged_png(rng: Random, data: bytes) -> bytes:
    """Damage one chunk of `data` and fix its checksum, so that a reader continues."""
    chunks, at = [], 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    if not chunks:
        return damaged(rng, data)
    n = rng.randrange(len(chunks))
    kind, content = chunks[n]
    if kind == b"IDAT" and rng.random() < 0.5:
        try:
            content = zlib.compress(damaged(rng, zlib.decompress(content)))
        except zlib.error:
            content = damaged(rng, content)
    else:
        content = damaged(rng, content)
    chunks[n] = (rng.choice((kind, kind, kind, b"tEXt", b"zTXt", b"iCCP", b"eXIf")), content)
    if rng.random() < 0.1:
        chunks.insert(rng.randrange(len(chunks)), rng.choice(chunks))
    written = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    ]
    return data[:8] + b"".join(written)


def damaged_zip(rng: Random, data: bytes) -> bytes:
    """Damage one file in the ZIP archive `data` and fix all checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [(info.filename, archive.read(info)) for info in archive.infolist()]
    n = rng.randrange(len(files))
    name, content = files[n]
    act = rng.random()
    if act < 0.1:
        files.pop(n)
    elif act < 0.2:
        files[n] = (rng.choice(("archive/code/a.py", "archive/data.pkl", "x" * 200)), content)
    else:
        files[n] = (name, damaged(rng, content))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as out:
        for name, content in dict(files).items():
            # dated 1980, not today: the same seed yields the same archive
            info = zipfile.ZipInfo(name)
            info.compress_type = out.compression
            out.writestr(info, content)
    return made.getvalue()
