"""Stylizes a picture with the .onnx file of the same name next to this script.

pip install numpy pillow onnxruntime
python THIS_SCRIPT photo.jpg styled.png

Written by `styleforge export`; change it as you like.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

MODEL = Path(__file__).with_suffix(".onnx")


def main(source: str, target: str) -> None:
    # Put "CUDAExecutionProvider" or others first if your build of ONNX Runtime has them.
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    taken = session.get_inputs()[0]
    texts = session.get_modelmeta().custom_metadata_map
    planes = taken.type == "tensor(float)"  # [1, 3, H, W] float32; otherwise [1, H, W, 3] uint8
    height, width = taken.shape[2:] if planes else taken.shape[1:3]

    with Image.open(source) as opened:
        image = ImageOps.exif_transpose(opened).convert("RGB")
    size = image.size
    if isinstance(height, int) and isinstance(width, int):  # the file accepts only this size
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    pixels = np.asarray(image)  # [H, W, 3] uint8, RGB, 0-255
    height, width = pixels.shape[:2]

    # Sides must be multiples of this number; reflection extends the picture.
    multiple = int(texts["multiple"])
    margin = ((0, -height % multiple), (0, -width % multiple), (0, 0))
    picture = np.pad(pixels, margin, mode="reflect")[None]
    if planes:
        picture = np.ascontiguousarray(picture.transpose(0, 3, 1, 2), dtype=np.float32)

    styled = np.asarray(session.run(None, {taken.name: picture})[0])

    if planes:
        styled = (styled.transpose(0, 2, 3, 1) + 0.5).astype(np.uint8)
    result = Image.fromarray(styled[0, :height, :width])
    result.resize(size, Image.Resampling.LANCZOS).save(target)
    print(f"{texts['title']}: {target}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {Path(__file__).name} PICTURE RESULT")
    main(*sys.argv[1:])
