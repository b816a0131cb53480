"""The native kernels with no fallback, by group: they run, or say why they cannot."""

from __future__ import annotations

from types import SimpleNamespace

from kernels import ops as ops
from kernels.ops.registry import OPS

GROUPS = {
    group: SimpleNamespace(**{op.name: op.native for op in OPS.values() if op.group == group})
    for group in {op.group for op in OPS.values()}
}
