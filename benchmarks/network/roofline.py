"""Roofline model: a lower bound for the network's time on GPUs with measured rates."""

from __future__ import annotations

from dataclasses import dataclass

from models.network_config import NetworkConfig
from models.precision import Precision


@dataclass(frozen=True, slots=True)
class Rates:
    """The measured peak rates of a GPU."""

    flops: float  # FLOP/s in half precision on the tensor cores
    bytes: float  # bytes/s, reads and writes


# By PyTorch's name of the GPU. Measured with PyTorch 2.11 on one H200: a BF16 product of
# random matrices of 8192x8192 by cuBLAS (769 to 798 TFLOP/s), and a copy of 8.6 GB on the device.
RATES = {"NVIDIA H200": Rates(flops=790e12, bytes=4.3e12)}


def activation_bytes(precision: Precision) -> int:
    """Return the bytes of an activation; autocast stores it in half precision."""
    return 2 if precision.value.autocast else precision.value.dtype.itemsize


def floor_ms(
    shape: NetworkConfig, width: int, height: int, element_bytes: int, rates: Rates
) -> float:
    """Return the lower bound for one frame, in milliseconds; an activation has `element_bytes`.

    It sums, over the layers of the exact rewrites, the longer of the times for multiplications and
    memory traffic. Activations are written once and read once, the frame has one byte per channel,
    and weights cost nothing. The half-precision rate is used for every precision.
    """
    outer, middle, inner = shape.widths
    full = -(-width // 4) * -(-height // 4) * 16  # pixels; sides are padded to multiples of 4
    half, quarter = full // 4, full // 16
    end = shape.end_kernel**2 * 3 * outer * full
    frame = 3 * width * height
    large, medium, small = outer * full, middle * half, inner * quarter  # activations
    layers = [  # multiply-adds; bytes
        (end, frame + large * element_bytes),
        (9 * outer * middle * half, (large + medium) * element_bytes),
        (9 * middle * inner * quarter, (medium + small) * element_bytes),
        *[(9 * inner * inner * quarter, 2 * small * element_bytes)] * 2 * shape.num_residual_blocks,
        (16 * inner * middle * quarter, (small + medium) * element_bytes),
        (16 * middle * outer * half, (medium + large) * element_bytes),
        (end, large * element_bytes + frame),
    ]
    return 1e3 * sum(max(2 * adds / rates.flops, moved / rates.bytes) for adds, moved in layers)
