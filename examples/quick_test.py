"""See in a minute what runs here and what a conversion gains: python -m examples.quick_test."""

from __future__ import annotations

import torch
from torch import nn

import kernel_fusion as kf
from kernel_fusion.auto_convert import auto_convert_model, validate_optimization


def main() -> None:
    """Check one operation, one module and one converted model against PyTorch."""
    print(f"a GPU: {kf.CUDA_AVAILABLE}; native kernels for the CPU: {kf.EXTENSION_LOADED}")
    x, y = torch.randn(256, 512), torch.randn(256, 512)
    apart = (kf.ops.add_relu(x, y) - torch.relu(x + y)).abs().max()
    print(f"add_relu differs by {float(apart):.1e}")

    layer = kf.modules.FusedLinearReLU(512, 1024)
    expected = torch.relu(nn.functional.linear(x, layer.weight, layer.bias))
    apart = (layer(x) - expected).detach().abs().max()
    print(f"FusedLinearReLU differs by {float(apart):.1e}")

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(28800, 10)
    ).eval()
    converted = auto_convert_model(model, (4, 3, 32, 32), keep_slower=True)
    print(converted.conversion_stats)
    found = validate_optimization(model, converted, (4, 3, 32, 32))
    print(f"the converted model differs by {found.max_difference:.1e}; {found.speedup:.2f}x")


if __name__ == "__main__":
    main()
