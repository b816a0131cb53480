"""Names of the native libraries, and of the families of operations."""

from __future__ import annotations

NAMESPACE = "styleforge"  # of the operations in torch.ops
NETWORK = "network"  # library of the whole network on a GPU, see kernels.network.dispatch
NETWORK_CPU = "network_cpu"  # library of the network on the CPU, see kernels.network.cpu.launchers
FRAMES = "frames"  # library around the network on a GPU, see kernels.frames.launchers
SMOOTHING = "smoothing"  # library of smoothing on the CPU, see kernels.frames.native_smoothing
TEXTURE = "texture"  # library of texture on the CPU, see kernels.frames.cpu_texture
OPERATIONS = "operations"  # library of the network's single operations on a GPU
STYLE = "style"  # family of the style networks' operations
TRANSFORMER = "transformer"  # family of the transformers' operations, and its library on a GPU
GENERAL = "general"  # family of the operations for any model, and its library on a GPU

FAMILIES = (STYLE, TRANSFORMER, GENERAL)  # and their folders in kernels/ops
_EARLIER = {"library": GENERAL}  # the name that programs may still use


def family_of(module: str) -> str:
    """Return the family of the operations in a module, which its folder in kernels/ops names."""
    folder = module.partition(".ops.")[2].partition(".")[0]
    return folder if folder in FAMILIES else STYLE


def family_named(name: str) -> str:
    """Return a family by its name, or by the name that it had.

    Raises:
        ValueError: If there is no such family.
    """
    family = _EARLIER.get(name, name)
    if family not in FAMILIES:
        raise ValueError(f"there is no family '{name}'; expected one of {', '.join(FAMILIES)}")
    return family


def group_of(module: str) -> str:
    """Return the name of an operation's group: its module, or the folder of an `api` module."""
    folder, _, name = module.rpartition(".")
    return folder.rpartition(".")[2] if name == "api" else name
