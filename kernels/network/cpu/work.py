"""The multiplications that each layer of a network needs by Winograd's transforms."""

from __future__ import annotations

import math

from kernels.network.shapes import Dimensions

RESIDUAL = "residual blocks"
# Products for each output and pair of channels, see docs/explanation/kernels.md. The filters of
# the ends are grids of 3x3 filters.
CELL_FIRST, STRIDE_2, PLAIN, PHASES, CELL_LAST = 36 / 16, 49 / 9, 36 / 16, 25 / 16, 25 / 9


def products(network: Dimensions, width: int, height: int) -> dict[str, float]:
    """Count the products of each layer, without padded tiles; the blocks are one layer."""
    outer, middle, inner = network.widths
    full = width * height
    half, quarter = full / 4, full / 16
    cells = math.ceil(network.end_kernel / 3) ** 2
    blocks = 2 * network.num_residual_blocks
    return {
        "conv1": CELL_FIRST * cells * full * 3 * outer,
        "conv2": STRIDE_2 * half * outer * middle,
        "conv3": STRIDE_2 * quarter * middle * inner,
        RESIDUAL: PLAIN * blocks * quarter * inner * inner,
        "deconv1": PHASES * half * inner * middle,
        "deconv2": PHASES * full * middle * outer,
        "deconv3": CELL_LAST * cells * full * outer * 3,
    }


def finished_shares(network: Dimensions) -> dict[str, float]:
    """Return the share of all products that is done after each mark of a network, 0 to 1.

    A network marks every layer, such as "encoder/conv1" and "residual blocks/res1.conv1", or
    whole blocks, such as "residual blocks/res1".
    """
    needed = products(network, 4, 4)  # the shares are the same at every size
    total, done, shares = sum(needed.values()), 0.0, dict[str, float]()
    for layer, count in needed.items():
        if layer != RESIDUAL:
            done += count
            group = "decoder" if layer.startswith("de") else "encoder"
            shares[f"{group}/{layer}"] = done / total
            continue
        for number in range(1, network.num_residual_blocks + 1):
            for part in (1, 2):
                done += count / (2 * network.num_residual_blocks)
                shares[f"{RESIDUAL}/res{number}.conv{part}"] = done / total
            shares[f"{RESIDUAL}/res{number}"] = done / total
    return shares
