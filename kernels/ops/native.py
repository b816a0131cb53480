"""The native kernels without fallback, by group: they run, or raise the reason why they cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from kernels import ops as ops
from kernels.table.operation import OPS, named


class _Groups(Mapping[str, SimpleNamespace]):
    """The registered operations by the module that registered them, read from the registry."""

    def __getitem__(self, group: str) -> SimpleNamespace:
        found = {name: op.native for op in OPS.values() if op.group == group for name in op.names}
        if not found:
            raise KeyError(group)
        return SimpleNamespace(**found)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(op.group for op in OPS.values()))

    def __len__(self) -> int:
        return len({op.group for op in OPS.values()})


GROUPS = _Groups()


def flat(name: str) -> Callable[..., Any] | None:
    """Return the native kernel of an operation that is also found outside of its group, or None."""
    op = named(name)
    return op.native if op is not None and op.is_flat else None


def flat_names() -> list[str]:
    return [name for op in OPS.values() if op.is_flat for name in op.names]
