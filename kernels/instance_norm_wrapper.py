"""Instance norm as a module, on the fused kernel."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from kernels.ops.style.normalization.api import fused_instance_norm_forward


class FusedInstanceNorm2d(nn.InstanceNorm2d):
    """Drop-in for `nn.InstanceNorm2d`: same state dict, same result, always of the instance.

    Args:
        affine: Whether to learn weight and bias. Unlike in `nn.InstanceNorm2d`, True by default.
        track_running_stats: Accepted for published code, but has no effect. Running statistics in
            a state dict are dropped.
    """

    def __init__(
        self,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = False,  # noqa: ARG002  (published code passes it)
    ) -> None:
        super().__init__(num_channels, eps=eps, affine=affine)  # pyright: ignore[reportUnknownMemberType]

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            state_dict.pop(f"{prefix}{name}", None)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)  # pyright: ignore[reportUnknownMemberType]

    def forward(self, input: Tensor) -> Tensor:
        """Normalize [N, C, H, W] or [C, H, W] of any floating dtype and layout.

        Raises:
            ValueError: If the number of channels or dimensions differs, or a plane is one pixel.
        """
        shape = input.shape
        if len(shape) != 4:
            self._check_input_dim(input)  # pyright: ignore[reportUnknownMemberType]
            return self(input.unsqueeze(0)).squeeze(0)
        if shape[1] != self.num_features:
            raise ValueError(
                f"instance norm: expected {self.num_features} channels, got {list(shape)}"
            )
        return fused_instance_norm_forward(input, self.weight, self.bias, self.eps)
