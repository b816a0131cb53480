"""The ways to run a network that `styleforge bench` compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from models.precision import Precision, computing
from models.transformer_net import TransformerNetFused
from utils.benchmark import in_graph

BASELINE = "baseline"
GRAPHED = "baseline graph"
COMPILED = "compiled baseline"
REWRITTEN = "compiled rewrites"
PYTORCH_ONLY = (BASELINE, GRAPHED, COMPILED, REWRITTEN)
# On a GPU, our own CUDA graph contains the compiled code, so the modes' graphs are disabled.
COMPILE_MODES = {"default": "default", "max-autotune": "max-autotune-no-cudagraphs"}

Call = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the network.

    Attributes:
        key: A key of ALL_VARIANTS, GRAPHED, COMPILED or REWRITTEN.
        call: Maps [1, 3, H, W] of the precision's dtype, RGB 0-255, to the same.
        prepare: Returns the function to time for such an input.
    """

    key: str
    title: str
    precision: Precision
    call: Call
    prepare: Callable[[Tensor], Callable[[], object]]
    memory_format: torch.memory_format = torch.contiguous_format

    @property
    def name(self) -> str:
        """The identifier of this row: key and precision."""
        return f"{self.key} {self.precision.name}"

    @property
    def is_compiled(self) -> bool:
        """Whether it runs through torch.compile."""
        return self.key in (COMPILED, REWRITTEN)


def eager_candidate(
    key: str, title: str, network: nn.Module, precision: Precision, device: torch.device
) -> Candidate:
    """Build the candidate that calls `network`; for the native one on a GPU, its plan's replay."""
    call = _in_precision(precision, device, network)

    def ready(x: Tensor) -> Callable[[], object]:
        if isinstance(network, TransformerNetFused):
            with computing(precision, device):
                plan = network.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)
            if plan is not None:
                plan.frames.copy_(x.permute(0, 2, 3, 1))
                return plan.replay
        return partial(call, x)

    return Candidate(key, title, precision, call, ready)


def graph_candidate(network: nn.Module, precision: Precision, device: torch.device) -> Candidate:
    call = _in_precision(precision, device, network)

    def ready(x: Tensor) -> Callable[[], object]:
        return in_graph(partial(call, x))

    return Candidate(GRAPHED, "Baseline, graph", precision, call, ready)


def compiled_candidate(
    key: str,
    title: str,
    network: nn.Module,
    mode: str,
    precision: Precision,
    device: torch.device,
) -> Candidate:
    """Build the candidate for torch.compile in `mode`; on a GPU channels last, as a CUDA graph."""
    from torch import _inductor  # the import takes seconds

    options = _inductor.list_mode_options(COMPILE_MODES[mode])
    # Inductor's tables would hide ours.
    options |= {"autotune_num_choices_displayed": 0, "max_autotune_report_choices_stats": False}
    gpu = device.type == "cuda"
    last = gpu or key == REWRITTEN
    memory_format = torch.channels_last if last else torch.contiguous_format
    network = network.to(memory_format=memory_format)  # pyright: ignore[reportCallIssue]
    call = _in_precision(precision, device, torch.compile(network, options=options, dynamic=False))

    def ready(x: Tensor) -> Callable[[], object]:
        run = partial(call, x)
        return in_graph(run) if gpu else run

    return Candidate(key, title, precision, call, ready, memory_format)


def _in_precision(precision: Precision, device: torch.device, network: Call | nn.Module) -> Call:
    def call(x: Tensor) -> Tensor:
        with computing(precision, device):
            return network(x)

    return call
