"""Stylizes a picture with the .xml and .bin files of the same name next to this script.

pip install numpy pillow openvino
python THIS_SCRIPT photo.jpg styled.png [CPU|GPU|NPU]

Written by `styleforge export`; change it as you like.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

# The package reports its use to its makers over the network unless this import fails.
sys.modules["openvino_telemetry"] = None  # pyright: ignore[reportArgumentType]
import openvino  # noqa: E402

MODEL = Path(__file__).with_suffix(".xml")


def main(source: str, target: str, device: str = "CPU") -> None:
    core = openvino.Core()
    model = core.read_model(MODEL)
    texts = model.get_rt_info(["styleforge"])
    planes = model.input(0).element_type == openvino.Type.f32  # else [1, H, W, 3] uint8
    rows, columns = (2, 3) if planes else (1, 2)

    with Image.open(source) as opened:
        image = ImageOps.exif_transpose(opened).convert("RGB")
    size = image.size
    if model.input(0).partial_shape.is_static:  # the file accepts only this size
        shape = model.input(0).shape
        image = image.resize((shape[columns], shape[rows]), Image.Resampling.LANCZOS)
    pixels = np.asarray(image)  # [H, W, 3] uint8, RGB, 0-255
    height, width = pixels.shape[:2]

    # Sides must be multiples of this number; reflection extends the picture.
    multiple = int(texts["multiple"])
    margin = ((0, -height % multiple), (0, -width % multiple), (0, 0))
    picture = np.pad(pixels, margin, mode="reflect")[None]
    if planes:
        picture = np.ascontiguousarray(picture.transpose(0, 3, 1, 2), dtype=np.float32)

    # An NPU accepts only one size, and a GPU is faster with one.
    model.reshape(list(picture.shape))
    # By default a device may compute in 16 bits, which is right for an FP16 file off the CPU.
    half = texts["precision"] == "FP16" and device != "CPU"
    hint = {} if half else {"INFERENCE_PRECISION_HINT": "f32"}
    styled = core.compile_model(model, device, hint)(picture)[0]

    if planes:
        styled = (styled.transpose(0, 2, 3, 1) + 0.5).astype(np.uint8)
    result = Image.fromarray(styled[0, :height, :width])
    result.resize(size, Image.Resampling.LANCZOS).save(target)
    print(f"{texts['title']}: {target}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: python {Path(__file__).name} PICTURE RESULT [DEVICE]")
    main(*sys.argv[1:])
