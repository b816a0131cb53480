"""What is published about torchvision's VGG-19: its address, and the checksums that are known."""

from __future__ import annotations

import json
from pathlib import Path

TORCHVISION_PREFIX = "dcbb9e9d"  # the first digits of the file's sha256, as torchvision states
ADDRESS = f"https://download.pytorch.org/models/vgg19-{TORCHVISION_PREFIX}.pth"
HOST = ADDRESS.split("/")[2]
WHOLE_MB, PART_MB = 575, 9  # to tell before a download
# SHA-256 of each layer's numbers, by torchvision's key; `python -m tools.vgg_hashes` fills it.
TABLE = Path(__file__).with_name("layer_hashes.json")


def layer_hashes() -> dict[str, str]:
    """The SHA-256 of the layers' numbers (float32, little-endian) by key; those that are known."""
    return json.loads(TABLE.read_text("utf-8"))
