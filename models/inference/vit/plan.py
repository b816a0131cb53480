"""The painter of the any-style network as CUDA graphs, from bytes to bytes."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from models.inference.sequential_plan import PicturePlan
from models.inference.vit.executor import Activations, VitExecutor

CODE = "code"  # the key of a style's code


class VitPlan(PicturePlan[Activations]):
    """`models.inference.vit` for N, H, W; it owns `executor`. New styles need no new capture."""

    def __init__(self, executor: VitExecutor, shape: tuple[int, int, int]) -> None:
        super().__init__(shape, executor.dtype, executor.device, executor.steps)
        self._executor = executor

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Switch to another style: its code, [1, code_dim], is under CODE in `weights`."""
        self._executor.set_code(weights[CODE])

    def _begin(self, x: Tensor) -> Activations:
        return Activations(self._executor.input(x))

    def _end(self, left: Activations) -> Tensor:
        return left.x
