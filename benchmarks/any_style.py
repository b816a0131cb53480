"""Check and benchmark of the any-style network's painter on a GPU, from bytes to bytes.

    python -m benchmarks.any_style --json benchmarks/reports/any-style.json

Untrained networks run as fast as trained ones. For each variant, size and precision it prints and
stores

- the median milliseconds of a frame: of the plan that a program uses, of the plan without the
  native network's layers, and of plain PyTorch: eager, in a CUDA graph, and compiled in a graph;
- the median microseconds of each step of both plans, each step in a graph of its own;
- the root mean square error of the picture against float64, next to plain PyTorch's, and
  whether a second run returned the same bits.

If a way fails, its error is reported and the others continue.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import statistics
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from app.provenance import report_header
from benchmarks.storing import store
from kernels.network.graph_plan import GraphPlan
from kernels.table.registry import prepare as load_kernels
from models.inference.sequential_plan import SequentialPlan
from models.inference.vit.cache import VitCache
from models.inference.vit.executor import VitExecutor
from models.inference.vit.plan import CODE, VitPlan
from models.inference.vit.weights import prepare
from models.vit_config import VIT_VARIANTS, VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from utils.benchmark import in_graph

DEVICE = torch.device("cuda")
SIZES = (512, 512), (1280, 720), (1920, 1080)
PRECISIONS = {"FP16": torch.float16, "BF16": torch.bfloat16}
CHECKED = 512, 512  # the size at which float64 is computed
ROUNDS, FRAMES = 15, 20
PLAN, WITHOUT_NATIVE = "plan", "plan, PyTorch's ends"
EAGER, IN_GRAPH, COMPILED = "eager", "eager in a graph", "compiled in a graph"


class Plain:
    """The network as defined, from `frames` to `pictures`, both [1, H, W, 3] uint8."""

    def __init__(self, network: StyleForgeTransformer, code: Tensor, frames: Tensor) -> None:
        self.network, self.code, self.frames = network, code.to(frames.device), frames
        self.pictures = torch.zeros_like(frames)
        self.dtype = network.decoder.conv_out.conv2d.weight.dtype
        self.paint: Callable[[Tensor, Tensor], Tensor] = network.stylize

    def __call__(self) -> None:
        x = self.frames.permute(0, 3, 1, 2).to(self.dtype)
        y = self.paint(x, self.code.to(self.dtype))
        self.pictures.copy_((y.float().clamp(0, 255) + 0.5).to(torch.uint8).permute(0, 2, 3, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description="Check and time the any-style painter on a GPU.")
    parser.add_argument("--json", type=Path, help="write the report to this file")
    parser.add_argument("--variants", default="small,tiny,base")
    parser.add_argument("--sizes", default=",".join(f"{w}x{h}" for w, h in SIZES))
    parser.add_argument("--precisions", default="FP16,BF16")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("there is no GPU here")
    load_kernels()
    sizes = [tuple(map(int, size.split("x"))) for size in given.sizes.split(",")]
    rows: list[dict[str, Any]] = []
    report = {**report_header(DEVICE), "any_style": rows}
    for name in given.variants.split(","):
        torch.manual_seed(0)
        network = StyleForgeTransformer(VIT_VARIANTS[name]).requires_grad_(False).eval()
        code = torch.randn(1, network.config.code_dim)
        for width, height in sizes:
            with torch.no_grad():
                frames = _picture(width, height)
                exact = _exact(network, code, frames) if (width, height) == CHECKED else None
            for precision in given.precisions.split(","):
                row = {"variant": name, "size": f"{width}x{height}", "precision": precision}
                with torch.no_grad():
                    found = _measured(
                        *(network, code, frames, exact, PRECISIONS[precision]),
                        compiled=not given.no_compile,
                    )
                rows.append({**row, **found})
                _tell(json.dumps(rows[-1]))
                if given.json:  # after every row, since the machine may be taken away
                    store(given.json, report, indent=1)


def _picture(width: int, height: int) -> Tensor:
    """Return a smooth picture with noise, [1, H, W, 3] uint8."""
    generator = torch.Generator().manual_seed(1)
    small = torch.randint(0, 256, (1, 3, height // 8, width // 8), generator=generator)
    large = torch.nn.functional.interpolate(small.float(), (height, width), mode="bicubic")
    noisy = large + 8 * torch.randn(large.shape, generator=generator)
    return noisy.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()


def _exact(network: StyleForgeTransformer, code: Tensor, frames: Tensor) -> Tensor:
    """Compute the network's picture in float64 on the CPU, [1, H, W, 3], 0-255."""
    exact = copy.deepcopy(network).double()
    y = exact.stylize(frames.permute(0, 3, 1, 2).double(), code.double())
    return y.permute(0, 2, 3, 1).clamp(0, 255)


def _measured(
    network: StyleForgeTransformer,
    code: Tensor,
    frames: Tensor,
    exact: Tensor | None,
    dtype: torch.dtype,
    *,
    compiled: bool,
) -> dict[str, Any]:
    _, height, width, _ = frames.shape
    found: dict[str, Any] = {"ms": {}, "us": {}, "error": {}, "bit-equal": {}, "failed": {}}

    def attempt(name: str, measure: Callable[[], None]) -> None:
        try:
            measure()
        except (RuntimeError, ValueError, torch.cuda.OutOfMemoryError) as error:
            found["failed"][name] = f"{type(error).__name__}: {error}"[:300]
            traceback.print_exc(limit=-3)

    def native_plan() -> None:
        plan = VitCache(network.config).plan(
            network.state_dict, code.to(DEVICE), dtype, DEVICE, (1, height, width)
        )
        found["plan"] = type(plan).__name__
        _plan_figures(found, PLAN, plan, frames, exact)

    def torch_plan() -> None:
        plan = _torch_plan(network, code, dtype, (1, height, width))
        _plan_figures(found, WITHOUT_NATIVE, plan, frames, exact)

    attempt(PLAN, native_plan)
    attempt(WITHOUT_NATIVE, torch_plan)
    layouts = (torch.contiguous_format, ""), (torch.channels_last, ", channels last")
    for memory_format, suffix in layouts:
        half = _copied(network, dtype, memory_format)
        plain = Plain(half, code, frames.to(DEVICE))

        def eager(plain: Plain = plain, suffix: str = suffix) -> None:
            plain()
            _tell_error(found, f"{EAGER}{suffix}", plain.pictures, exact)
            found["ms"][f"{EAGER}{suffix}"] = _frame_ms(plain)

        def graphed(plain: Plain = plain, suffix: str = suffix) -> None:
            found["ms"][f"{IN_GRAPH}{suffix}"] = _frame_ms(in_graph(plain))

        def compiled_in_graph(plain: Plain = plain, suffix: str = suffix) -> None:
            plain.paint = torch.compile(plain.network.stylize, dynamic=False)
            found["ms"][f"{COMPILED}{suffix}"] = _frame_ms(in_graph(plain))

        attempt(f"{EAGER}{suffix}", eager)
        attempt(f"{IN_GRAPH}{suffix}", graphed)
        if compiled and not suffix:
            attempt(f"{COMPILED}{suffix}", compiled_in_graph)
    return {name: value for name, value in found.items() if value}


def _plan_figures(
    found: dict[str, Any],
    name: str,
    plan: SequentialPlan[Any],
    frames: Tensor,
    exact: Tensor | None,
) -> None:
    plan.frames.copy_(frames)
    plan.replay()
    first = plan.pictures.clone()
    plan.replay()
    found["bit-equal"][name] = bool(torch.equal(plan.pictures, first))
    _tell_error(found, name, first, exact)
    found["ms"][name] = _frame_ms(plan.replay)
    found["us"][name] = _steps_us(plan)


def _torch_plan(
    network: StyleForgeTransformer, code: Tensor, dtype: torch.dtype, shape: tuple[int, int, int]
) -> VitPlan:
    config: VitConfig = network.config
    weights = prepare(network.state_dict(), config, dtype, DEVICE)
    plan = VitPlan(VitExecutor(config, weights), shape)
    plan.set_weights({CODE: code})
    return plan


def _copied(
    network: StyleForgeTransformer, dtype: torch.dtype, memory_format: torch.memory_format
) -> StyleForgeTransformer:
    made = StyleForgeTransformer(network.config, fused=False).requires_grad_(False).eval()
    made.load_state_dict(network.state_dict())
    made.to(DEVICE, dtype)
    for parameter in made.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=memory_format)
    return made


def _tell_error(found: dict[str, Any], name: str, pictures: Tensor, exact: Tensor | None) -> None:
    """Store the root mean square error against float64 on a scale of 255.

    Rounding to bytes alone costs 0.29.
    """
    if exact is not None:
        apart = pictures.cpu().double() - exact
        found["error"][name] = round(float(apart.square().mean().sqrt()), 4)


def _frame_ms(call: Callable[[], object]) -> float:
    """Return the median time of a frame when frames follow one another without a pause."""
    times: list[float] = []
    for round_ in range(ROUNDS + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(FRAMES):
            call()
        end.record()
        torch.cuda.synchronize()
        if round_:
            times.append(start.elapsed_time(end) / FRAMES)
    return round(statistics.median(times), 4)


def _steps_us(plan: GraphPlan) -> dict[str, float]:
    """Return the median time of each step, each launched as its own graph."""
    plan.time_layers(True)
    spent: dict[str, list[float]] = {}
    for round_ in range(ROUNDS + 1):
        marks: list[tuple[str, torch.cuda.Event]] = []

        def mark(name: str, marks: list[tuple[str, torch.cuda.Event]] = marks) -> None:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            marks.append((name, event))

        mark("")
        plan.replay(mark)
        torch.cuda.synchronize()
        if round_:
            for (_, before), (name, after) in itertools.pairwise(marks):
                spent.setdefault(name, []).append(before.elapsed_time(after) * 1e3)
    plan.time_layers(False)
    return {name: round(statistics.median(times), 2) for name, times in spent.items()}


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
