"""The operations that prepare pictures for any model."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.model_inputs import CPU, CUDA, images
from kernels.ops.model_inputs.timed import TIMED
from kernels.ops.registry import LIBRARY, fused


@fused(
    CPU,
    reference=images.reference,
    samples=images.samples,
    launch_cpu=images.launch_cpu,
    cuda=CUDA,
    launch_cuda=images.launch_cuda,
    tolerance_scale=4,
    family=LIBRARY,
    timed=TIMED,
    refuses=images.refuses,
    cuda_dtypes=(torch.uint8,),
)
def image_to_tensor(
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: list[int] | None = None,
    boxes: list[int] | None = None,
    mirrored: list[bool] | None = None,
    color: list[float] | None = None,
    antialias: bool = True,
    channels_last: bool = False,
) -> Tensor:
    """Pictures of bytes as normalized tensors: crop, resize, mirror and colors in one pass.

    Values are divided by 255, changed in color, clamped to 0 and 1, and normalized to
    (value - mean) / std. All changes of color are one matrix, so that nothing is clamped between
    them, and contrast is about middle gray, 0.5: torchvision clamps after each and takes the mean
    of the picture, for which it reads the picture once more.

    Args:
        images: uint8 [N, H, W, 3], RGB.
        mean: [3], of the dtype of the result, FP16, BF16, FP32 or FP64.
        std: [3] of the same dtype.
        size: Height and width of the result; those of the first box by default.
        boxes: First row, first column, height and width of what is resized, 4 numbers for all
            pictures or one after another for each; the whole picture by default.
        mirrored: Whether left and right change places, for all pictures or for each.
        color: Brightness, contrast and saturation, of which 1 changes nothing, and hue in turns of
            the circle, of which 0 changes nothing; 4 numbers for all pictures or for each.
        antialias: Whether a smaller result is a mean of all pixels, as that of
            torch.nn.functional.interpolate with `antialias`, and of Pillow's bilinear.
        channels_last: Whether channels of a pixel lie together.

    Returns:
        [N, 3, height, width] of mean's dtype.

    Raises:
        ValueError: An argument does not fit.
    """
    ...
