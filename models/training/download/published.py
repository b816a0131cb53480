"""The published address of torchvision's VGG-19, and its known checksums."""

from __future__ import annotations

import json
from pathlib import Path

TORCHVISION_PREFIX = "dcbb9e9d"  # the first digits of the file's sha256, published by torchvision
ADDRESS = f"https://download.pytorch.org/models/vgg19-{TORCHVISION_PREFIX}.pth"
HOST = ADDRESS.split("/")[2]
WHOLE_MB, PART_MB = 575, 9  # for messages before a download
# SHA-256 of each layer's numbers, by torchvision's key; `python -m tools.vgg_hashes` fills it.
TABLE = Path(__file__).with_name("layer_hashes.json")


def layer_hashes() -> dict[str, str]:
    """Return the known SHA-256 of the layers' numbers (float32, little-endian) by key."""
    return json.loads(TABLE.read_text("utf-8"))
