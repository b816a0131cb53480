"""Small networks of the families that conversion supports, with the special traits of each."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.transformer_net import TransformerNetBaseline


class Bottleneck(nn.Module):
    """ResNet's bottleneck: one ReLU in three places, an in-place sum."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 8, 1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv3, self.bn3 = nn.Conv2d(8, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.layers, self.fc = nn.Sequential(Bottleneck(16), Bottleneck(16)), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


class DenseNet(nn.Module):
    """Norms and ReLUs before convolutions, whose results are concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(3), nn.Conv2d(3, 8, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(8), nn.Conv2d(8, 4, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(F.relu(self.norm1(x)))
        y = self.conv2(F.relu(self.norm2(y), inplace=True))
        return torch.cat([x, y], 1)


class SqueezeExcitation(nn.Module):
    """A block of MobileNetV3 and EfficientNet: groups, SiLU or hard swish, scaled channels."""

    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(3, 12, 1, bias=False), nn.BatchNorm2d(12), activation(inplace=True),
            nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False), nn.BatchNorm2d(12),
            activation(inplace=True),
        )  # fmt: skip
        self.fc1, self.fc2 = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
        self.out, self.norm = nn.Conv2d(12, 3, 1, bias=False), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        scale = self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(y, 1))))
        return x + self.norm(self.out(y * F.hardsigmoid(scale)))


class VGG(nn.Module):
    """Convolutions with a bias and a ReLU, a classifier with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)
        )
        self.classifier = nn.Sequential(
            nn.Linear(512, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 32), nn.ReLU(True)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.features(x), 1))


class ViT(nn.Module):
    """Patches, a learned token, PyTorch's attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 1, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return (x + self.mlp(self.norm2(x)))[:, 0]


class ConvNeXt(nn.Module):
    """Channels permuted to the last dimension, a scale per layer."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(3, 3, 7, padding=3, groups=3), nn.LayerNorm(3)
        self.mlp = nn.Sequential(nn.Linear(3, 12), nn.GELU(), nn.Linear(12, 3))
        self.scale = nn.Parameter(torch.full((3, 1, 1), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.mlp(self.norm(self.depthwise(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        return x + self.scale * y


class Swin(nn.Module):
    """Shifted windows, biases by relative position."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.qkv, self.out = nn.Conv2d(3, 8, 1), nn.Linear(8, 24), nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn(49, 2))
        self.register_buffer("index", torch.arange(256).view(16, 16) % 49)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.roll(self.embed(x).permute(0, 2, 3, 1), (-2, -2), (1, 2))
        n, h, w, c = x.shape
        x = x.view(n, h // 4, 4, w // 4, 4, c).transpose(2, 3).reshape(-1, 16, c)
        q, k, v = self.qkv(x).reshape(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        bias = self.table[self.get_buffer("index")].permute(2, 0, 1)
        x = ((q @ k.transpose(-2, -1) / 2 + bias).softmax(-1) @ v).transpose(1, 2)
        return self.out(x.reshape(-1, 16, c))


class BERT(nn.Module):
    """Summed embeddings, a mask, three layers with the same input, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norm, self.drop = nn.LayerNorm(16), nn.Dropout(0.1)
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))
        self.dense, self.output = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> dict[str, Tensor]:
        n, length = input_ids.shape
        positions = torch.arange(length, device=input_ids.device)
        x = self.drop(self.norm(self.words(input_ids) + self.positions(positions)))
        q, k, v = (
            layer(x).view(n, length, 2, 8).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mask = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        y = F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(n, length, 16)
        x = self.norm(x + self.drop(y))
        return {"hidden": self.norm(x + self.output(F.gelu(self.dense(x)))), "first": x[:, 0]}


class GPT2(nn.Module):
    """A spelled-out GELU, transposed weights, a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.weight = nn.Parameter(torch.randn(16, 48) / 4)
        self.bias = nn.Parameter(torch.zeros(48))
        self.fc, self.out = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        x = self.words(ids)
        qkv = torch.addmm(self.bias, x.view(-1, 16), self.weight).view(*x.shape[:2], 48)
        q, k, v = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in qkv.split(16, dim=2))
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        y = self.fc(x)
        inner = math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))
        return x + self.out(0.5 * y * (1.0 + torch.tanh(inner))), q


class T5(nn.Module):
    """An encoder and a decoder, norms without a mean, gated ReLU layers without biases."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.scale = nn.Embedding(50, 16), nn.Parameter(torch.ones(16))
        self.wi, self.wo = nn.Linear(16, 32, bias=False), nn.Linear(32, 16, bias=False)
        self.key, self.value = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)

    def _block(self, x: Tensor) -> Tensor:
        y = self.scale * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x + self.wo(torch.relu(self.wi(y)))

    def forward(self, input_ids: Tensor, decoder_input_ids: Tensor) -> Tensor:
        memory = self._block(self.words(input_ids))
        x = self.words(decoder_input_ids)
        scores = (x @ self.key(memory).transpose(1, 2)).softmax(-1)
        return self._block(x + scores @ self.value(memory))


class Branching(nn.Module):
    """A branch on a value, which no exporter follows, with layers that have a fused form."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        y = self.head(self.image(x).mean((2, 3)))
        return y if float(y.detach().sum()) > 1e9 else -y


def shaken(model: nn.Module) -> nn.Module:
    """Put a model into evaluation mode and give its norms nontrivial statistics."""
    for module in model.eval().modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 2)
            nn.init.normal_(module.bias)
    return model


IMAGE = (2, 3, 16, 16)


def ids(*shape: int) -> Tensor:
    return torch.randint(50, shape, generator=torch.Generator().manual_seed(0))


MASK = torch.tensor([[1] * 12, [1] * 9 + [0] * 3])
# By name: the network, the input shape to convert it for, and the number of replacements by kind.
FAMILIES: dict[str, tuple[type[nn.Module], Any, dict[str, int]]] = {
    "ResNet": (ResNet, IMAGE, {"conv_bn": 2, "conv_bn_relu": 5, "add_relu": 2}),
    "DenseNet": (DenseNet, IMAGE, {"conv_bn_relu": 1, "bn_relu": 1}),
    "MobileNetV3": (lambda: SqueezeExcitation(nn.Hardswish), IMAGE, {"conv_bn": 3}),
    "EfficientNet": (lambda: SqueezeExcitation(nn.SiLU), IMAGE, {"conv_bn": 3}),
    "VGG": (VGG, IMAGE, {"linear_relu": 2}),
    "ViT": (ViT, IMAGE, {"linear_gelu": 1}),
    "ConvNeXt": (ConvNeXt, IMAGE, {"linear_gelu": 1}),
    "Swin": (Swin, IMAGE, {}),
    "BERT": (BERT, {"input_ids": ids(2, 12), "attention_mask": MASK}, {"linear_gelu": 1}),
    "RoBERTa": (BERT, (2, 12), {"linear_gelu": 1}),
    "GPT-2": (GPT2, (2, 12), {"gelu_written_out": 1, "linear_gelu": 1}),
    "StyleForge": (TransformerNetBaseline, (1, 3, 24, 24), {}),
    "T5": (T5, {"input_ids": ids(2, 9), "decoder_input_ids": ids(2, 5)}, {"linear_relu": 2}),
}  # type: ignore[dict-item]
