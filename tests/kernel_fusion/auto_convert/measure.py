"""Times ResNet-50 and BERT-base in FP32, converted, eager and compiled: random weights, full size.

`python -m tests.kernel_fusion.auto_convert.measure --compile default reduce-overhead --json FILE`
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernel_fusion.auto_convert import ModelConverter
from kernel_fusion.auto_convert.comparison import calling, difference, exact
from kernel_fusion.auto_convert.inputs import Inputs, inputs_of
from kernels.table.registry import GENERAL, prepare
from utils.benchmark import interleave
from utils.provenance import commit_of, machine_info

# Modes of torch.compile. The last two run CUDA graphs; the last one first measures kernels for
# minutes.
MODES = ("default", "reduce-overhead", "max-autotune")


class Bottleneck(nn.Module):
    """He et al., 2016, with the stride in the middle."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride > 1 or channels != 4 * width:
            shortcut = nn.Conv2d(channels, 4 * width, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(4 * width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet50(nn.Module):
    """The layers, and so the figures, match torchvision's."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        blocks: list[nn.Module] = []
        channels = 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for n in range(count):
                width = 64 << stage
                blocks.append(Bottleneck(channels, width, 2 if stage and not n else 1))
                channels = 4 * width
        self.layers, self.fc = nn.Sequential(*blocks), nn.Linear(2048, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class BertLayer(nn.Module):
    """Devlin et al., 2019, with PyTorch's attention."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(768, 768) for _ in range(3))
        self.out, self.norm1 = nn.Linear(768, 768), nn.LayerNorm(768, 1e-12)
        self.dense, self.output = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.norm2, self.drop = nn.LayerNorm(768, 1e-12), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        shape = (*x.shape[:2], 12, 64)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = self.norm1(self.drop(self.out(y)) + x)
        return self.norm2(self.drop(self.output(F.gelu(self.dense(x)))) + x)


class BertBase(nn.Module):
    """Twelve layers, embeddings and the pooled first token."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(30522, 768), nn.Embedding(512, 768)
        self.types, self.norm = nn.Embedding(2, 768), nn.LayerNorm(768, 1e-12)
        self.layers, self.pooler = (
            nn.Sequential(*(BertLayer() for _ in range(12))),
            nn.Linear(768, 768),
        )

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.types(torch.zeros_like(ids)) + self.positions(places)
        x = self.layers(self.norm(x))
        return x, torch.tanh(self.pooler(x[:, 0]))


CASES = {
    "ResNet-50, 1": (ResNet50, (1, 3, 224, 224)),
    "ResNet-50, 32": (ResNet50, (32, 3, 224, 224)),
    "BERT-base, 1 x 128": (BertBase, (1, 128)),
    "BERT-base, 8 x 128": (BertBase, (8, 128)),
}


def rows(
    device: torch.device, runs: int, compiled: Sequence[str], only: str
) -> Iterator[dict[str, Any]]:
    """Measure each case without TF32, against torch.compile in the modes `compiled`."""
    for name, (make, shape) in CASES.items():
        if only not in name:
            continue
        torch.manual_seed(0)
        model: Any = make().eval().to(device)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.get_buffer("running_mean").normal_(0, 0.1)
                module.get_buffer("running_var").uniform_(0.5, 1.5)
        with exact(device), torch.inference_mode():
            converter, began = ModelConverter(timed_runs=runs), time.perf_counter()
            ways = {"eager": model, "converted": converter.convert_model(model, shape)}
            took = time.perf_counter() - began
            torch.compiler.reset()  # discard what was compiled for the previous model
            for mode in compiled:
                ways[f"compiled, {mode}"] = torch.compile(model, mode=mode)
            inputs: Inputs = inputs_of(model, shape, device)
            calls = {way: calling(run, inputs) for way, run in ways.items()}
            expected = model.double()(*(wide(x) for x in inputs.args))
            model.float()
            errors = {way: difference(as_wide(call()), expected) for way, call in calls.items()}
            times = interleave(calls, 5, runs, device)
        stats = converter.conversion_stats
        yield {
            "case": name,
            "ms": {way: each.median_ms for way, each in times.items()},
            "error": errors,
            "speedup": times["eager"].median_ms / times["converted"].median_ms,
            "difference": stats.max_difference,
            "execution": stats.execution,
            "replaced": stats.replaced,
            "skipped": [f"{each.what}: {each.reason}" for each in stats.skipped],
            "seconds to convert": took,
        }


def wide(x: Any) -> Any:
    return x.double() if x.is_floating_point() else x


def as_wide(results: Any) -> Any:
    return tuple(map(wide, results)) if isinstance(results, tuple) else wide(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument(
        "--compile", nargs="*", default=[], choices=MODES, help="torch.compile's modes beside it"
    )
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    prepare(family=GENERAL)  # otherwise PyTorch's operations would be measured instead
    report = {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine_info(torch.device(given.device)),
        "versions": {"torch": torch.__version__, "python": sys.version.split()[0]},
        "commit": commit_of(Path(__file__)),
    }
    found: list[dict[str, Any]] = []
    for row in rows(torch.device(given.device), given.runs, given.compile, given.only):
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
        found.append(row)
        if given.json:  # also stores the figures of an interrupted run
            text = json.dumps({**report, "conversion": found}, indent=1) + "\n"
            given.json.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
