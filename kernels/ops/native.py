"""The native kernels with no fallback, by group: they run, or say why they cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from kernels import ops as ops
from kernels.ops.registry import OPS, named


class _Groups(Mapping[str, SimpleNamespace]):
    """The registered operations by the module that registered them, as the registry has them."""

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
    """The native kernel of an operation that is also found outside of its group; else None."""
    op = named(name)
    return op.native if op is not None and op.is_flat else None


def flat_names() -> list[str]:
    """The names that `flat` finds."""
    return [name for op in OPS.values() if op.is_flat for name in op.names]
