"""A style's weights on a device, in the order in which the shaders read them."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import torch
from torch import Tensor

from kernels.network.cpu.weights import phase_rows, plain_rows
from kernels.network.webgpu.convolution import Convolution
from kernels.network.webgpu.device import Buffer, Device
from kernels.network.webgpu.last import filters_are_uniform
from kernels.network.webgpu.layers import Layer, Network
from kernels.network.webgpu.tiles import Tile
from kernels.weight_transforms import phase_weight


class Weights:
    """The weights of one style, packed once. Every plan of its network and device can use them.

    Attributes:
        buffers: By the name of a convolution or a norm in the state dict.
    """

    def __init__(
        self,
        device: Device,
        network: Network,
        state: Mapping[str, Tensor],
        *,
        beside: Weights | None = None,
    ) -> None:
        """Pack and upload a published state dict, of any float dtype.

        Args:
            beside: The same style for other tiles. Layers with the same tile share its buffers.

        Raises:
            WebGpuError: If the device is lost or out of memory.
        """
        self.network = network
        self.buffers: dict[str, Buffer] = {}
        for _ in self._pack(device, state, beside):
            pass

    @classmethod
    def in_steps(
        cls,
        device: Device,
        network: Network,
        state: Mapping[str, Tensor],
        *,
        beside: Weights | None = None,
    ) -> Generator[None, None, Weights]:
        """Return the weights after a step for each layer; the arguments are the constructor's."""
        weights = cls.of_buffers(network, {})
        yield from weights._pack(device, state, beside)
        return weights

    @classmethod
    def of_buffers(cls, network: Network, buffers: dict[str, Buffer]) -> Weights:
        """Return weights that other code writes to buffers."""
        weights = cls.__new__(cls)
        weights.network, weights.buffers = network, buffers
        return weights

    @property
    def uniforms(self) -> frozenset[str]:
        """The names of the buffers that shaders read as uniforms."""
        uniform = filters_are_uniform(self.network.widths[0], self.network.end_kernel)
        return frozenset({"deconv3"} if uniform else ())

    @property
    def halves(self) -> frozenset[str]:
        """The names of the buffers in FP16."""
        direct = [layer for layer in self.network.normed if not layer.winograd]
        return frozenset(layer.convolution for layer in direct if self.network.half)

    def _pack(
        self, device: Device, state: Mapping[str, Tensor], beside: Weights | None
    ) -> Generator[None]:
        half, shared = self.network.half, frozenset[Layer]()
        if beside is not None:
            assert beside.network.half == half
            self.buffers |= beside.buffers
            shared = frozenset(beside.network.normed)
        for layer in self.network.normed:
            if layer in shared:
                continue
            weight = state[f"{layer.convolution}.conv2d.weight"].detach().cpu()
            if layer.winograd:
                packed = transformed_filters(weight, layer.form, layer.tile)
            else:
                packed = filters(weight, layer.form, layer.tile)
                packed = packed.half() if half else packed.float()
            self.buffers[layer.convolution] = device.upload(packed.numpy())
            gamma, beta = (state[f"{layer.norm}.{part}"] for part in ("weight", "bias"))
            self.buffers[layer.norm] = device.upload(affine(gamma, beta).numpy())
            yield
        if beside is not None:
            return
        weight, bias = (state[f"deconv3.conv2d.{part}"] for part in ("weight", "bias"))
        packed = last_filters(weight.detach().cpu(), bias.detach().cpu())
        uniform = "deconv3" in self.uniforms
        self.buffers["deconv3"] = device.upload(packed.numpy(), uniform=uniform)


def filters(weight: Tensor, layer: Convolution, tile: Tile) -> Tensor:
    """Pack [K, C, R, R] as [phases, parts, blocks, taps, C of a block, K of a part]."""
    weight = phase_weight(weight.double()) if layer.enlarges else weight
    parts, blocks = layer.outputs // tile.outputs, layer.blocks(tile)
    split = weight.reshape(
        *(layer.phases, parts, tile.outputs, blocks, layer.inputs // blocks, layer.side**2)
    )
    return split.permute(0, 1, 3, 5, 4, 2).contiguous()


def transformed_filters(weight: Tensor, layer: Convolution, tile: Tile) -> Tensor:
    """Transform [K, C, 3, 3] to [positions, parts, blocks, C of a block, K of a part], in FP32.

    If the layer enlarges, K are its outputs in each phase, one phase after another.
    """
    inputs, outputs = layer.inputs, layer.phases * layer.outputs
    rows = phase_rows() if layer.enlarges else plain_rows()[None]
    # One large product takes 0.6 ms for 128 channels, and small ones for each filter 11 ms.
    both = torch.cat([torch.kron(down, across) for down in rows for across in rows])
    matrices = both @ weight.double().reshape(-1, 9).T  # [phases * positions, K * C]
    matrices = matrices.view(layer.phases, -1, layer.outputs, inputs).permute(1, 3, 0, 2)
    split = matrices.float().reshape(
        *(-1, layer.blocks(tile), inputs // layer.blocks(tile)),
        *(outputs // tile.outputs, tile.outputs),
    )
    return split.permute(0, 3, 1, 2, 4).contiguous()


def last_filters(weight: Tensor, bias: Tensor) -> Tensor:
    """Pack [3, C, R, R] and [3] as [C / 4, columns, rows, 3] vectors of four C, then the bias."""
    colors, inputs, *side = weight.shape
    split = weight.float().view(colors, inputs // 4, 4, *side).permute(1, 4, 3, 0, 2)
    return torch.cat([split.reshape(-1), bias.float(), bias.new_zeros(1, dtype=torch.float32)])


def affine(gamma: Tensor, beta: Tensor) -> Tensor:
    """Pack [C] and [C] as [C / 4, 2, 4], in FP32."""
    pair = [part.detach().cpu().float().view(-1, 4) for part in (gamma, beta)]
    return torch.stack(pair, 1)
