"""Use the fused operations in a network of your own: python -m examples.fused_operations."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import kernel_fusion as kf


def main() -> None:
    """Compare a fused convolution, norm and ReLU with PyTorch's, and its gradient."""
    for status in kf.statuses("cpu"):
        print(f"{status.name} runs on {status.runs}")

    x = torch.randn(1, 32, 64, 64, requires_grad=True)
    weight, gamma, beta = torch.randn(64, 32, 3, 3) / 17, torch.ones(64), torch.zeros(64)
    fused = kf.ops.fused_conv_instancenorm_forward(x, weight, None, gamma, beta, relu=True)
    (gradient,) = torch.autograd.grad(fused.square().mean(), x)

    padded = F.pad(x, (1, 1, 1, 1), mode="reflect")
    plain = F.instance_norm(F.conv2d(padded, weight), weight=gamma, bias=beta).relu()
    (expected,) = torch.autograd.grad(plain.square().mean(), x)
    print(f"largest difference: {float((fused - plain).detach().abs().max()):.1e}")
    print(f"of the gradients: {float((gradient - expected).abs().max()):.1e}")


if __name__ == "__main__":
    main()
