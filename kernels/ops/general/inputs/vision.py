"""The operations that prepare images for any model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.ops.general.inputs import CPU, CUDA, images
from kernels.ops.general.inputs.timed import TIMED
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["image_to_tensor"]


@Operation(
    reference=images.reference,
    samples=images.samples,
    cpu=Cpu(CPU, images.launch_cpu),
    cuda=Cuda(CUDA, images.launch_cuda, dtypes=(torch.uint8,)),
    refuses=images.refuses,
    tolerance_scale=4,
    timed=TIMED["image_to_tensor"],
)
def image_to_tensor(
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: Sequence[int] | None = None,
    boxes: Sequence[int] | None = None,
    mirrored: Sequence[bool] | None = None,
    color: Sequence[float] | None = None,
    antialias: bool = True,
    channels_last: bool = False,
) -> Tensor:
    """Turn byte images into normalized tensors: crop, resize, mirror and adjust colors in one pass.

    Values are divided by 255, adjusted in color, clamped to [0, 1], and normalized to (value -
    mean) / std. One matrix makes all color changes, so nothing is clamped between them. Contrast is
    relative to middle gray, 0.5. torchvision instead clamps after each change and uses the image's
    mean, for which it reads the image once more. Returns [N, 3, height, width] of mean's dtype.

    Args:
        images: uint8 [N, H, W, 3], RGB.
        mean: [3], in the dtype of the result: FP16, BF16, FP32 or FP64; likewise `std`.
        size: Height and width of the result. Defaults to the size of the first box.
        boxes: First row, first column, height and width of the region to resize: 4 numbers for all
            images, or 4 for each image in order. Defaults to the whole image.
        mirrored: Whether to swap left and right, for all images or for each.
        color: Brightness, contrast and saturation, where 1 changes nothing, and hue in turns of the
            color circle, where 0 changes nothing; 4 numbers for all images or for each.
        antialias: Whether a smaller result averages all pixels, as with `antialias` in
            torch.nn.functional.interpolate and in Pillow's bilinear filter.
    """
    ...
