"""Compares the structs that a library describes with their ctypes mirrors."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from kernels.jit.errors import BuildError


def check(
    told: Mapping[str, Mapping[str, Any]], mirrors: Mapping[str, type[ctypes.Structure]], file: str
) -> None:
    """Raise BuildError, which names the struct, if its layout differs from its mirror.

    `told` has for each struct its "size" and the "offsets" of its fields, in bytes.
    """
    if told.keys() != mirrors.keys():
        odd = ", ".join(sorted(told.keys() ^ mirrors.keys()))
        raise BuildError(f"the library and {file} differ in structs: {odd}")
    for name, mirror in mirrors.items():
        offsets = {field[0]: getattr(mirror, field[0]).offset for field in mirror._fields_}
        theirs, size = told[name]["offsets"], told[name]["size"]
        if offsets != theirs or ctypes.sizeof(mirror) != size:
            different = sorted(
                field
                for field in offsets.keys() | theirs.keys()
                if offsets.get(field) != theirs.get(field)
            )
            raise BuildError(
                f"the library's struct {name} has {size} bytes, its mirror in "
                f"{file} has {ctypes.sizeof(mirror)}; "
                f"fields that differ: {', '.join(different) or 'none'}"
            )
