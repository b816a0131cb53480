"""The layers of VGG-19 that training uses, conv1_1 to conv3_4, and their shapes."""

from __future__ import annotations

# Index in torchvision's `vgg19().features`, and the name of the activation after it.
LAYERS = {
    0: "relu1_1",
    2: "relu1_2",
    5: "relu2_1",
    7: "relu2_2",
    10: "relu3_1",
    12: "relu3_2",
    14: "relu3_3",
    16: "relu3_4",
}
CHANNELS = (3, 64, 64, 128, 128, 256, 256, 256, 256)
KINDS = ("weight", "bias")


def layer_shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight [Cout, Cin, 3, 3] and bias [Cout], by torchvision's key."""
    shapes: dict[str, tuple[int, ...]] = {}
    for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
        shapes[f"features.{index}.weight"] = (cout, cin, 3, 3)
        shapes[f"features.{index}.bias"] = (cout,)
    return shapes
