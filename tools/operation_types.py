"""Writes kernel_fusion/ops.pyi, the declarations of the operations for editors and type checkers.

`python -m tools.operation_types`; a test compares the file with the table of operations.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernel_fusion import ops as _ops  # registers them
from kernels.ops.registry import ALIASES, OPS, Op
from utils.files.atomic import atomic_write

FILE = Path(__file__).resolve().parent.parent / "kernel_fusion" / "ops.pyi"
# Parameters for which one number means all dimensions, or the only one.
NUMBERS = {"normalized_shape", "dim", "stride", "padding", "dilation"}
HEAD = '''"""The fused operations as functions: native where kernels are built, else in PyTorch.

`python -m tools.operation_types` generates this file. `help(kernel_fusion.ops.add_relu)` shows the
whole documentation of an operation.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
'''


def written() -> str:
    """Return the required content of the file."""
    assert set(dir(_ops)) == {*OPS, *ALIASES}
    return "\n\n".join([HEAD.rstrip(), *map(_function, OPS.values()), "\n".join(_aliases())]) + "\n"


def _function(op: Op) -> str:
    signature = inspect.signature(op.operation)
    arguments = [f"    {_argument(each)},\n" for each in signature.parameters.values()]
    returned = _named(signature.return_annotation)
    about = textwrap.fill(_summary(op), 90).replace("\n", "\n    ")
    return f'def {op.name}(\n{"".join(arguments)}) -> {returned}:\n    """{about}"""'


def _argument(parameter: inspect.Parameter) -> str:
    # For an argument, a tuple is as good as a list.
    declared = _named(parameter.annotation).replace("list[", "Sequence[")
    if parameter.name in NUMBERS:
        declared = declared.replace("Sequence[int]", "int | Sequence[int]")
    if parameter.default is inspect.Parameter.empty:
        return f"{parameter.name}: {declared}"
    default: Any = parameter.default
    return f"{parameter.name}: {declared} = " + (
        f'"{default}"' if isinstance(default, str) else repr(default)
    )


def _named(annotation: Any) -> str:
    return inspect.formatannotation(annotation).replace("torch.Tensor", "Tensor")


def _summary(op: Op) -> str:
    return " ".join((inspect.getdoc(op.operation) or "").partition("\n\n")[0].split())


def _aliases() -> Iterator[str]:
    for alias, name in ALIASES.items():
        yield f"{alias} = {name}"


if __name__ == "__main__":
    atomic_write(FILE, written().encode())
    sys.stdout.write(f"{FILE.name}: {len(OPS)} operations\n")
