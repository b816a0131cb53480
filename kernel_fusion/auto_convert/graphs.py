"""A model's computation as a graph: its export, and its split into constants and the rest."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._export.verifier import SpecViolationError
from torch.fx.graph import CodeGen
from torch.utils import _pytree as pytree

from kernel_fusion.auto_convert.comparison import Outputs
from kernel_fusion.auto_convert.inputs import Inputs
from kernel_fusion.auto_convert.watched import NotExported, Trial, Watched
from utils.tf32 import tf32_allowed

aten: Any = torch.ops.aten
# In a graph without writes, these return their argument, or it in another shape.
COPIES = {aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default}
VIEWS = {aten.view.default, aten._unsafe_view.default}
# torch.export raises any of these, depending on the model; each means that there is no graph.
REFUSALS = (
    RuntimeError, TypeError, ValueError, AttributeError, AssertionError, LookupError,
    SpecViolationError,
)  # fmt: skip


@dataclass(frozen=True)
class Exported:
    """A model as a graph of PyTorch operations, for inputs of certain shapes.

    Attributes:
        root: Has the model's own parameters and buffers, not copies.
        graph: From flat inputs to flat outputs, without writes.
        expected: The model's own result for the inputs of the export.
    """

    root: nn.Module
    graph: fx.Graph
    arranged: pytree.TreeSpec
    expected: Outputs
    watched: Watched


def exported(model: nn.Module, inputs: Inputs) -> Exported:
    """Export the model, in evaluation, as a graph.

    Raises:
        NotExported: If torch.export cannot follow the computation, or the model draws random
            numbers, has hooks, or writes to itself or its inputs.
    """
    expected, watched = Trial(model).run(inputs), Watched(model)
    try:
        with (
            warnings.catch_warnings(),
            _same_attributes(model),
            torch.inference_mode(False),
            torch.no_grad(),
            tf32_allowed(False),  # the exporter reads the flags, and raises if they disagree
        ):
            warnings.simplefilter("ignore")  # PyTorch's exporter warns about its own parts
            program: Any = torch.export.export(model, inputs.args, inputs.kwargs, strict=False)
            program = program.run_decompositions({})
            root = program.module()
    except REFUSALS as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise NotExported(first) from error
    graph = root.graph
    for node in graph.nodes:
        if node.op == "call_module":
            graph.erase_node(node)  # it checks inputs, which have been compared already
        elif node.target in COPIES:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        elif node.target in VIEWS:
            node.target = aten.reshape.default
    graph.eliminate_dead_code()
    graph.set_codegen(CodeGen())
    spec = program.call_spec.out_spec
    assert spec is not None
    return Exported(root, graph, spec, expected, watched)


@contextlib.contextmanager
def _same_attributes(model: nn.Module) -> Generator[None]:
    """Restore the modules' attributes on exit: torch.export replaces containers by copies."""
    kept = [(vars(each), dict(vars(each))) for each in model.modules()]
    try:
        yield
    finally:
        for attributes, before in kept:
            attributes.clear()
            attributes.update(before)


def copied(graph: fx.Graph) -> fx.Graph:
    new = fx.Graph()
    new.output(new.graph_copy(graph, {}))
    return new


@dataclass(frozen=True)
class Parts:
    """A graph in two parts: `prepare` computes constants, `run` the outputs from them and inputs.

    Constants depend on neither weights nor inputs; `run` reads the weights, `held`, at each call.
    """

    prepare: Callable[[], tuple[Any, ...]]
    run: Callable[..., Sequence[Any]]
    held: dict[str, Tensor]


def split(root: nn.Module, graph: fx.Graph) -> Parts:
    """Split a graph, so that constants are computed once.

    A value that depends on weights is not a constant: not every write to a weight can be detected.
    """
    fixed: set[fx.Node] = set()
    for node in graph.nodes:
        is_of_constants = fixed.issuperset(node.all_input_nodes)
        if node.op == "call_function" and is_of_constants and not _is_random(node.target):
            fixed.add(node)
    frontier = [node for node in graph.nodes if node in fixed and not fixed.issuperset(node.users)]
    prepare, run = fx.Graph(), fx.Graph()
    first: dict[fx.Node, fx.Node] = {}
    second = {node: run.placeholder(f"fixed_{n}") for n, node in enumerate(frontier)}
    for node in graph.nodes:
        if node in fixed:
            first[node] = prepare.node_copy(node, first.__getitem__)
        else:
            second[node] = run.node_copy(node, second.__getitem__)
    prepare.output(tuple(first[node] for node in frontier))
    for part in (prepare, run):
        part.eliminate_dead_code()
    names = [str(node.target) for node in run.nodes if node.op == "get_attr"]
    tensors = {name: attrgetter(name)(root) for name in names}
    return Parts(fx.GraphModule(root, prepare), fx.GraphModule(root, run), tensors)


def _is_random(target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def value_of(node: fx.Node) -> Any:
    """Return a tensor with the shape, dtype and device of a node's result, or None."""
    value = node.meta.get("val")
    return value if isinstance(value, Tensor) else None
