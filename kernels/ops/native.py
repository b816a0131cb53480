"""The native kernels with no fallback, by group: they run, or say why they cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace

from kernels import ops as ops
from kernels.ops.registry import OPS


class _Groups(Mapping[str, SimpleNamespace]):
    """The registered operations by the module that registered them, as the registry has them."""

    def __getitem__(self, group: str) -> SimpleNamespace:
        found = {op.name: op.native for op in OPS.values() if op.group == group}
        if not found:
            raise KeyError(group)
        return SimpleNamespace(**found)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(op.group for op in OPS.values()))

    def __len__(self) -> int:
        return len({op.group for op in OPS.values()})


GROUPS = _Groups()
