"""The fused operations as modules, with the state dicts of the modules they replace."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from kernels.ops.general.conv.api import (
    conv2d_bn_relu,
    conv2d_gelu_dropout,
    depthwise_pointwise_conv,
    grouped_conv_norm,
)
from kernels.ops.general.fusion.api import layer_norm_gelu, layer_norm_relu
from kernels.ops.general.linear.api import linear_activation


class FusedLinearReLU(nn.Linear):
    """relu(linear(x)), with the arguments and state dict of torch.nn.Linear."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to [..., in_features]."""
        return linear_activation(input, self.weight, self.bias, "relu")


class FusedLinearGELU(nn.Linear):
    """gelu(linear(x)) with the exact GELU, and the arguments and state dict of torch.nn.Linear."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to [..., in_features]."""
        return linear_activation(input, self.weight, self.bias, "gelu")


class FusedLayerNormReLU(nn.LayerNorm):
    """relu(layer_norm(x)), with the arguments and state dict of torch.nn.LayerNorm."""

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm_relu(input, list(self.normalized_shape), self.weight, self.bias, self.eps)


class FusedLayerNormGELU(nn.LayerNorm):
    """gelu(layer_norm(x)) with the exact GELU, otherwise like torch.nn.LayerNorm."""

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm_gelu(input, list(self.normalized_shape), self.weight, self.bias, self.eps)


class _FusedConvolution(nn.Sequential):
    """Layers that run as one operation, with the state dict of nn.Sequential(*layers)."""

    def _layers(self) -> list[Any]:
        return list(self)

    def _sizes(self) -> dict[str, Any]:
        names = ("stride", "padding", "dilation")
        return {name: list(getattr(self[0], name)) for name in names}


class FusedConv2dBNReLU(_FusedConvolution):
    """relu(bn(conv(x))); in evaluation, the norm is folded into the convolution's weights.

    The state dict equals nn.Sequential(conv, bn, nn.ReLU())'s; the layers are shared, not copied.

    Raises:
        ValueError: If the layers do not fit each other or have no fused form.
    """

    def __init__(self, conv: nn.Conv2d, bn: nn.BatchNorm2d) -> None:
        _check_convolution(conv)
        if bn.num_features != conv.out_channels:
            raise ValueError(
                f"FusedConv2dBNReLU: bn has {bn.num_features} channels; expected "
                f"{conv.out_channels}, as conv"
            )
        if bn.running_mean is None or bn.momentum is None:
            raise ValueError(
                "FusedConv2dBNReLU: bn has no running statistics, or a cumulative average; "
                "expected running statistics with a momentum"
            )
        super().__init__(conv, bn)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layers to [N, in, H, W]."""
        conv, bn = self._layers()
        if bn.training and bn.num_batches_tracked is not None:
            bn.num_batches_tracked.add_(1)
        norm = bn.weight, bn.bias, bn.running_mean, bn.running_var
        options = bn.training, bn.momentum, bn.eps
        return conv2d_bn_relu(
            input, conv.weight, conv.bias, *norm, *options, **self._sizes(), groups=conv.groups
        )


class FusedConv2dGELUDropout(_FusedConvolution):
    """dropout(gelu(conv(x))). The state dict equals nn.Sequential(conv, GELU, Dropout)'s.

    `conv` is shared, not copied; `p` is the probability that an element is dropped in training.

    Raises:
        ValueError: If the convolution has no fused form.
    """

    def __init__(self, conv: nn.Conv2d, p: float = 0.5) -> None:
        _check_convolution(conv)
        super().__init__(conv)
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layers to [N, in, H, W]."""
        (conv,) = self._layers()
        return conv2d_gelu_dropout(
            input, conv.weight, conv.bias, self.p, self.training, **self._sizes(),
            groups=conv.groups,
        )  # fmt: skip


class FusedDepthwisePointwiseConv2d(_FusedConvolution):
    """activation(pointwise(depthwise(x))). The state dict equals nn.Sequential's of the two layers.

    Args:
        depthwise: Has as many groups as channels; shared, not copied.
        pointwise: 1 x 1; shared, not copied. ValueError if the layers are not of these kinds.
        activation: A name that `kernel_fusion.ops.linear_activation` accepts.
    """

    def __init__(
        self, depthwise: nn.Conv2d, pointwise: nn.Conv2d, activation: str = "none"
    ) -> None:
        _check_convolution(depthwise)
        _check_convolution(pointwise)
        plain = pointwise.kernel_size, pointwise.stride, pointwise.padding, pointwise.groups
        if depthwise.groups != depthwise.in_channels or plain != ((1, 1), (1, 1), (0, 0), 1):
            raise ValueError(
                "FusedDepthwisePointwiseConv2d: expected a depthwise convolution (one group per "
                "channel) and a 1 x 1 convolution without stride, padding and groups"
            )
        super().__init__(depthwise, pointwise)
        self.activation = activation

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layers to [N, in, H, W]."""
        first, second = self._layers()
        weights = first.weight, second.weight, first.bias, second.bias
        return depthwise_pointwise_conv(input, *weights, self.activation, **self._sizes())


class FusedConv2dGroupNorm(_FusedConvolution):
    """activation(norm(conv(x))). The state dict equals nn.Sequential's of the two layers.

    The layers are shared, not copied. `activation` is one of
    `kernel_fusion.ops.linear_activation`.

    Raises:
        ValueError: If the convolution has no fused form.
    """

    def __init__(self, conv: nn.Conv2d, norm: nn.GroupNorm, activation: str = "relu") -> None:
        _check_convolution(conv)
        super().__init__(conv, norm)
        self.activation = activation

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layers to [N, in, H, W]."""
        conv, norm = self._layers()
        options = norm.num_groups, norm.weight, norm.bias, self.activation, norm.eps
        return grouped_conv_norm(
            input, conv.weight, conv.bias, *options, **self._sizes(), groups=conv.groups
        )


def _check_convolution(conv: nn.Conv2d) -> None:
    if isinstance(conv.padding, str) or conv.padding_mode != "zeros":
        raise ValueError(
            f"the convolution's padding is {conv.padding!r} in mode '{conv.padding_mode}'; "
            "expected numbers in mode 'zeros'"
        )
