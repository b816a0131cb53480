"""The painter of the any-style network as CUDA graphs, from bytes to bytes."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from models.inference.sequential_plan import PicturePlan
from models.inference.vit.executor import Activations, VitExecutor

CODE = "code"  # the key of a style's code


class VitPlan(PicturePlan[Activations]):
    """`models.inference.vit` for pictures of one size. A style is written without a new capture.

    Args:
        executor: Its steps, on a CUDA device, for this plan alone.
        shape: N, H, W of the pictures.
    """

    def __init__(self, executor: VitExecutor, shape: tuple[int, int, int]) -> None:
        super().__init__(shape, executor.dtype, executor.device, executor.steps)
        self._executor = executor

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Paint in another style.

        Args:
            weights: The state of a style: under CODE its code, [1, code_dim].
        """
        self._executor.set_code(weights[CODE])

    def _begin(self, x: Tensor) -> Activations:
        return Activations(self._executor.input(x))

    def _end(self, left: Activations) -> Tensor:
        return left.x
