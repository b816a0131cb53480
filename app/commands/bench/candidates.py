"""The ways to run a network that `styleforge bench` compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from app.commands.bench.math_modes import MathMode
from models.transformer_net import TransformerNetFused

BASELINE = "baseline"
GRAPHED = "baseline graph"
COMPILED = "compiled baseline"
REWRITTEN = "compiled rewrites"
PYTORCH_ONLY = (BASELINE, GRAPHED, COMPILED, REWRITTEN)
# On a GPU what is compiled runs in a graph of ours, which leaves nothing to the modes' own.
COMPILE_MODES = {"default": "default", "max-autotune": "max-autotune-no-cudagraphs"}

Call = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the network. `key` is a key of VARIANTS, GRAPHED, COMPILED or REWRITTEN."""

    key: str
    title: str
    arithmetic: MathMode
    call: Call  # [1, 3, H, W] of the arithmetic's dtype, RGB 0-255, in and out
    ready: Callable[[Tensor], Callable[[], object]]  # given the same, what is timed
    memory_format: torch.memory_format = torch.contiguous_format  # of the input

    @property
    def name(self) -> str:
        return f"{self.key} {self.arithmetic.name}"

    @property
    def compiled(self) -> bool:
        return self.key in (COMPILED, REWRITTEN)


def plain(
    key: str, title: str, network: nn.Module, arithmetic: MathMode, device: torch.device
) -> Candidate:
    """`network` as it is called; the native network takes bytes on the device, and leaves such."""
    call = _in(arithmetic, device, network)

    def ready(x: Tensor) -> Callable[[], object]:
        if isinstance(network, TransformerNetFused):
            with arithmetic.on(device):
                plan = network.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)
            if plan is not None:
                plan.frames.copy_(x.permute(0, 2, 3, 1))
                return plan.replay
        return partial(call, x)

    return Candidate(key, title, arithmetic, call, ready)


def graphed(network: nn.Module, arithmetic: MathMode, device: torch.device) -> Candidate:
    """The baseline on a GPU as one CUDA graph."""
    call = _in(arithmetic, device, network)
    return Candidate(GRAPHED, "Baseline, graph", arithmetic, call, partial(captured, call))


def compiled(
    key: str,
    title: str,
    network: nn.Module,
    mode: str,
    arithmetic: MathMode,
    device: torch.device,
) -> Candidate:
    """`network` through torch.compile in `mode`, a key of COMPILE_MODES; on a GPU channels last
    and as one CUDA graph."""
    from torch import _inductor  # takes seconds

    options = _inductor.list_mode_options(COMPILE_MODES[mode])
    # Its tables would bury ours.
    options |= {"autotune_num_choices_displayed": 0, "max_autotune_report_choices_stats": False}
    gpu = device.type == "cuda"
    last = gpu or key == REWRITTEN
    memory_format = torch.channels_last if last else torch.contiguous_format
    network = network.to(memory_format=memory_format)  # pyright: ignore[reportCallIssue]
    call = _in(arithmetic, device, torch.compile(network, options=options, dynamic=False))
    ready = partial(captured, call) if gpu else lambda x: partial(call, x)
    return Candidate(key, title, arithmetic, call, ready, memory_format)


def captured(call: Call, x: Tensor) -> Callable[[], object]:
    """`call(x)` as one CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):  # what is chosen or allocated once cannot be while capturing
            call(x)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(x)
    return partial(_replay, graph, call, x)


def _replay(graph: torch.cuda.CUDAGraph, *_read: object) -> None:
    """`_read` is what the graph reads: it knows addresses only."""
    graph.replay()


def _in(arithmetic: MathMode, device: torch.device, network: Call | nn.Module) -> Call:
    def call(x: Tensor) -> Tensor:
        with arithmetic.on(device):
            return network(x)

    return call
