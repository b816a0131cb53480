"""Stylizes a picture with the .pt2 file of the same name next to this script.

pip install numpy pillow torch
python THIS_SCRIPT photo.jpg styled.png

Written by `styleforge export`; change it as you like.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps

MODEL = Path(__file__).with_suffix(".pt2")


def main(source: str, target: str) -> None:
    extra = {"styleforge.json": ""}
    program = torch.export.load(str(MODEL), extra_files=extra)
    texts = json.loads(extra["styleforge.json"])
    network = program.module()
    planes = texts["pictures"] == "float"  # [1, 3, H, W] float32; otherwise [1, H, W, 3] uint8

    with Image.open(source) as opened:
        image = ImageOps.exif_transpose(opened).convert("RGB")
    size = image.size
    if texts["size"] != "any":  # the file accepts only this size
        width, height = map(int, texts["size"].split("x"))
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    pixels = np.array(image)  # [H, W, 3] uint8, RGB, 0-255
    height, width = pixels.shape[:2]

    # Sides must be multiples of this number; reflection extends the picture.
    multiple = int(texts["multiple"])
    margin = ((0, -height % multiple), (0, -width % multiple), (0, 0))
    picture = torch.from_numpy(np.pad(pixels, margin, mode="reflect"))[None]
    if planes:
        picture = picture.permute(0, 3, 1, 2).float().contiguous()

    with torch.inference_mode():
        styled = network(picture)

    if planes:
        styled = (styled.permute(0, 2, 3, 1) + 0.5).to(torch.uint8)
    result = Image.fromarray(styled[0, :height, :width].numpy())
    result.resize(size, Image.Resampling.LANCZOS).save(target)
    print(f"{texts['title']}: {target}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {Path(__file__).name} PICTURE RESULT")
    main(*sys.argv[1:])
