"""Converted models have the same results, keys and training, for every family of networks."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kernel_fusion as kf
from kernel_fusion.auto_convert import ModelConverter, auto_convert_model, validate_optimization
from kernel_fusion.auto_convert import converter as converting
from kernel_fusion.auto_convert import forward as forwards
from kernel_fusion.auto_convert.comparison import difference, exact
from kernel_fusion.auto_convert.graphs import exported
from kernel_fusion.auto_convert.inputs import inputs_of
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.rewrites import REWRITES
from kernel_fusion.auto_convert.split_products import CHANGES
from tests.helpers.daily import some_daily
from tests.kernel_fusion.auto_convert.families import (
    BERT,
    FAMILIES,
    IMAGE,
    Branching,
    ResNet,
    ids,
    shaken,
)
from utils.tf32 import tf32_allowed

# Together they have every rewrite: of convolutions, norms, sums, and of GELU in both forms.
DAILY = {"ResNet", "DenseNet", "GPT-2"}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
EXECUTED = "linear_merged", "add_norm"  # counted only if that execution is faster
CPU = torch.device("cpu")
# The matches that ways of execution find in small networks.
HAS = {
    "ResNet": {
        "channels_last": 7,
        "relu_in_cudnn": 7,
        "split_products": 1,
        "split_pointwise": 4,
        "split_convolutions": 6,
    },
    "BERT": {"summed_norms": 2, "merged_layers": 3, "split_products": 5},
    "ViT": {"summed_norms": 1, "channels_last": 1, "split_products": 4},
}
OPTIONS: dict[str, Any] = {"keep_slower": True, "timed_runs": 1}


def made(make: Any) -> Any:
    torch.manual_seed(0)
    return shaken(make())


def result(model: nn.Module, given: Any) -> Any:
    inputs = inputs_of(model, given, next(model.parameters()).device)
    with torch.no_grad():
        return model(*inputs.args, **inputs.kwargs)


@pytest.fixture(scope="module")
def resnet() -> tuple[nn.Module, nn.Module]:
    model = made(ResNet)
    return model, auto_convert_model(model, IMAGE, **OPTIONS)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in DAILY else pytest.mark.full) for n in FAMILIES]
)
def test_a_family_is_converted(name, device):
    make, given, replaced = FAMILIES[name]
    model = made(make)
    before = copy.deepcopy(model.state_dict())
    converter = ModelConverter(**OPTIONS)
    converted = converter.convert_model(model, given, device)
    stats = converter.conversion_stats
    assert stats.found_by == "torch.export"
    found = {kind: count for kind, count in stats.replaced.items() if kind not in EXECUTED}
    assert found == replaced
    assert stats.total_replaced == sum(stats.replaced.values())
    assert stats.max_difference <= 1e-5
    assert type(converted) is type(model)
    assert converted is not model
    assert "forward" not in model.__dict__
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])
    assert list(converted.state_dict()) == list(before)
    assert difference(result(converted.cpu(), given), result(model, given)) <= 1e-5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "change"),
    some_daily(
        [(name, change) for change in CHANGES for name in HAS],
        *(len(HAS) * n + n % len(HAS) for n in range(0, len(CHANGES), 2)),
    ),
)
def test_a_way_of_execution_changes_no_result(name, change, device):
    make, given, _ = FAMILIES[name]
    model = made(make).to(device)
    inputs = inputs_of(model, given, torch.device(device))
    program = Program(exported(model, inputs), list(REWRITES), Execution(**{change: True}))
    assert program.changed[change] == HAS[name].get(change, 0)
    if change == "relu_in_cudnn" and device == "cpu":
        return  # cuDNN needs a GPU
    with torch.no_grad(), exact(torch.device(device)):
        assert difference(program(inputs), result(model, given)) <= 1e-5


@pytest.mark.gpu
@pytest.mark.parametrize("name", HAS)
def test_a_cuda_graph_follows_inputs_and_weights(name):
    make, given, _ = FAMILIES[name]
    model, device = made(make).cuda(), torch.device("cuda")
    inputs = inputs_of(model, given, device)
    everything = dict.fromkeys(["cuda_graph", *HAS[name]], True)
    program = Program(exported(model, inputs), list(REWRITES), Execution(**everything))
    with torch.no_grad(), exact(device):
        found = [(program(each), each) for each in (inputs, inputs.random(1), inputs.random(2))]
        for ours, each in found:
            assert difference(ours, model(*each.args, **each.kwargs)) <= 1e-5
        next(model.parameters()).mul_(0.5)
        program.forget()
        with torch.inference_mode():
            assert difference(program(inputs), result(model, given)) <= 1e-5


@pytest.mark.gpu
def test_a_cuda_graph_keeps_the_memory_that_its_products_write_to():
    model = made(lambda: nn.Sequential(nn.Linear(8192, 512), nn.ReLU(), nn.Linear(512, 8))).cuda()
    inputs = inputs_of(model, (8, 8192), torch.device("cuda"))
    source, graph = exported(model, inputs), Execution(cuda_graph=True)
    ended, program = (Program(source, list(REWRITES), graph) for _ in range(2))
    with torch.no_grad():
        ended(inputs)
        program(inputs)
    del ended
    torch._C._cuda_clearCublasWorkspaces()  # as torch.compile does when it creates CUDA graphs
    gc.collect()
    torch.cuda.empty_cache()
    others = [torch.full((1 << 20,), torch.nan, device="cuda") for _ in range(128)]
    with torch.no_grad():
        assert difference(program(inputs), model(*inputs.args)) <= 1e-6
    assert all(bool(x.isnan().all()) for x in others)


def test_weights_are_loaded_both_ways(resnet):
    model, converted = resnet
    other = made(ResNet)
    with torch.no_grad():
        for x in other.parameters():
            x.mul_(0.9)
    mine = copy.deepcopy(converted)
    result(mine, IMAGE)  # with its current weights
    mine.load_state_dict(other.state_dict())
    assert difference(result(mine, IMAGE), result(other, IMAGE)) <= 1e-5
    assert difference(result(mine, IMAGE), result(model, IMAGE)) > 1e-3
    back = made(ResNet)
    back.load_state_dict(mine.state_dict(), strict=True)
    assert difference(result(back, IMAGE), result(other, IMAGE)) == 0


def test_a_converted_model_is_pickled(resnet):
    model, converted = resnet
    again = pickle.loads(pickle.dumps(converted))
    assert again.__dict__["forward"]._model is again
    assert difference(result(again, IMAGE), result(model, IMAGE)) <= 1e-5


def test_a_converted_model_trains_as_the_original(resnet):
    losses = []
    for given in resnet:
        model = copy.deepcopy(given).train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        x = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))
        for _ in range(3):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        losses.append(result(model, IMAGE))
    assert difference(losses[1], losses[0]) <= 1e-4


def test_gradients_and_hooks_are_those_of_the_original(resnet):
    model, converted = (copy.deepcopy(each) for each in resnet)
    x = torch.randn(IMAGE, requires_grad=True)
    grads = [torch.autograd.grad(each(x).sum(), x)[0] for each in (model, converted)]
    assert torch.equal(*grads)
    seen: list[Tensor] = []
    result(converted, IMAGE)  # creates the program
    handle = converted.layers.register_forward_hook(lambda module, args, y: seen.append(y))
    result(converted, IMAGE)
    handle.remove()
    assert len(seen) == 1
    result(converted, IMAGE)
    assert len(seen) == 1


def test_a_layer_that_is_exchanged_is_used(resnet):
    model, converted = (copy.deepcopy(each) for each in resnet)
    for _ in range(2):  # the first call creates the program, the second checks the whole model
        result(converted, IMAGE)
    converted.fc = nn.Linear(16, 4)
    assert result(converted, IMAGE).shape == (2, 4)
    model.fc = converted.fc
    assert difference(result(converted, IMAGE), result(model, IMAGE)) <= 1e-5


@pytest.mark.full
def test_another_batch_has_a_program_of_its_own_and_another_call_none(resnet):
    model, converted = (copy.deepcopy(each) for each in resnet)
    for shape in ((1, 3, 16, 16), (3, 3, 20, 16)):
        with torch.inference_mode():
            assert difference(result(converted, shape), result(model, shape)) <= 1e-5
    programs = converted.__dict__["forward"]._programs
    assert [program is not None for _, program in programs] == [True, True]
    wide = torch.randn(IMAGE, dtype=torch.float64)
    with torch.no_grad():
        expected = model.double()(wide)
        assert difference(converted.double()(wide), expected) <= 1e-12


def test_arguments_by_name_and_by_position_are_the_same_call():
    ran: list[str] = []  # not an attribute of the model, so nothing notices it

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: Tensor, shift: Tensor | None = None, *, scale: float = 2.0) -> Tensor:
            ran.append("the model's own forward")
            y = self.layer(x).relu() * scale
            return y if shift is None else y + shift

    model, x, shift = made(Scaled), torch.randn(4, 8), torch.randn(8)
    calls = {
        "plain": [((x,), {}), ((), {"x": x}), ((x, None), {"scale": 2.0})],
        "shifted": [((x, shift), {}), ((), {"shift": shift, "x": x}), ((x,), {"shift": shift})],
        "scaled": [((x,), {"scale": 3.0}), ((), {"scale": 3.0, "x": x, "shift": None})],
    }
    for same in calls.values():
        args, kwargs = same[0]
        with torch.no_grad():
            expected = model(*args, **kwargs)
        converted = auto_convert_model(
            model, kwargs | {"x": x, "shift": (*args, None)[1]}, **OPTIONS
        )
        assert converted.conversion_stats.linear_relu_replaced == 1
        ran.clear()
        with torch.no_grad():
            for args, kwargs in same:
                assert difference(converted(*args, **kwargs), expected) <= 1e-6
        assert not ran


def test_calls_without_a_program_are_told_once_and_are_right(resnet, monkeypatch):
    model, converted = (copy.deepcopy(each) for each in resnet)
    forward = converted.__dict__["forward"]
    before, wide = len(forward._stats.skipped), torch.randn(IMAGE, dtype=torch.float64)
    with torch.no_grad():
        for _ in range(3):
            assert difference(converted.double()(wide), model.double()(wide)) <= 1e-12
    (told,) = forward._stats.skipped[before:]
    assert told.what == f"inputs of float64 {list(IMAGE)}"
    assert "differ in kind" in told.reason

    model, converted = model.float(), converted.float()
    monkeypatch.setattr(forwards, "MOST_PROGRAMS", 1)
    for shape in (IMAGE, (1, 3, 16, 16), (1, 3, 16, 16)):
        with torch.no_grad():
            assert difference(result(converted, shape), result(model, shape)) <= 1e-5
    (told,) = forward._stats.skipped[before + 1 :]
    assert told.what == "inputs of float32 [1, 3, 16, 16]"
    assert "at most 1 input sizes" in told.reason


def test_a_model_that_cannot_be_exported_is_converted_by_its_modules():
    model = made(Branching)
    keys = list(model.state_dict())
    converter = ModelConverter(**OPTIONS)
    converted = converter.convert_model(model, IMAGE)
    stats = converter.conversion_stats
    assert stats.found_by == "modules"
    assert stats.replaced == {"conv_bn_relu": 1, "linear_relu": 1, "layernorm_relu": 1}
    assert [each.what for each in stats.skipped] == ["torch.export"]
    assert list(converted.state_dict()) == keys
    assert difference(result(converted, IMAGE), result(model, IMAGE)) <= 1e-5
    other = copy.deepcopy(converted).train()
    x = torch.randn(IMAGE)
    assert difference(other(x), copy.deepcopy(model).train()(x)) <= 1e-5
    assert other.image[1].num_batches_tracked == 1


def test_what_is_wrong_is_skipped_with_a_reason(monkeypatch):
    def broken(graph: Any) -> int:
        for node in graph.nodes:
            if node.target == torch.ops.aten.layer_norm.default:
                node.args = (*node.args[:4], 0.5)
        return 1

    monkeypatch.setitem(REWRITES, "broken", broken)
    converter = ModelConverter(**OPTIONS)
    converter.convert_model(made(BERT), (2, 12))
    (skipped,) = (each for each in converter.conversion_stats.skipped if each.what == "broken")
    assert "results differ by" in skipped.reason
    assert "broken" not in converter.conversion_stats.replaced
    assert converter.conversion_stats["linear_gelu_replaced"] == 1


@pytest.mark.full
def test_what_is_slower_is_undone_unless_told_otherwise(monkeypatch):
    def times(self: Any, inputs: Any, **runs: Any) -> dict[str, float]:
        return {name: 1.0 if name == "original" else 2.0 for name in runs}

    monkeypatch.setattr(converting.ModelConverter, "_times", times)
    converter = ModelConverter(timed_runs=1)
    converted = converter.convert_model(made(ResNet), IMAGE)
    assert "forward" not in converted.__dict__
    assert converter.conversion_stats.total_replaced == 0
    assert converter.conversion_stats.skipped[-1].reason == "it is not faster: 0.50x"
    converter.keep_slower = True
    assert "forward" in converter.convert_model(made(ResNet), IMAGE).__dict__
    assert converter.conversion_stats["speedup_achieved"] == 0.5


def test_two_models_are_compared_and_left_in_their_modes():
    model = made(ResNet).train()
    model.fc.eval()
    same = copy.deepcopy(model)
    found = validate_optimization(model, same, IMAGE, runs=2)
    assert found.max_difference == 0
    assert found.speedup == pytest.approx(found.original_ms / found.optimized_ms)
    assert model.training
    assert not model.fc.training
    with torch.no_grad():
        same.fc.bias += 1
    assert validate_optimization(model, same, IMAGE, runs=1).max_difference > 1e-3


@pytest.mark.parametrize(
    ("found", "expected", "apart"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), 0.5),
        ({"a": torch.tensor([1.0])}, {"a": torch.tensor([1.0])}, 0.0),
        (torch.tensor([torch.nan]), torch.tensor([1.0]), torch.inf),
        (torch.tensor([1.0]), torch.tensor([1.0, 1.0]), torch.inf),
    ],
)
def test_a_difference_is_relative_to_the_largest_value(found, expected, apart):
    assert difference(found, expected) == apart


def test_conversion_is_found_at_the_top():
    assert kf.auto_convert_model is auto_convert_model
    assert kf.auto_convert.ModelConverter is ModelConverter


@pytest.mark.full
@pytest.mark.parametrize("conv", some_daily(["ieee", "tf32"], 1))
def test_a_model_is_exported_whatever_flags_of_tf32_the_caller_mixed(conv):
    """PyTorch's exporter raises if its older and newer flags disagree."""
    cudnn: Any = torch.backends.cudnn
    model = made(ResNet)
    with tf32_allowed(True):  # restores the flags set here
        cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = conv, "ieee"
        with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
            assert cudnn.allow_tf32
        graph = exported(model, inputs_of(model, IMAGE, CPU)).graph
        assert len(list(graph.nodes)) > 10
        assert cudnn.conv.fp32_precision == conv


def test_a_model_is_exported_where_fp32_is_exact_on_a_gpu():
    """Measurements convert a model in such a block."""
    model = made(ResNet)
    inputs = inputs_of(model, IMAGE, CPU)
    with exact(torch.device("cuda")):
        assert len(list(exported(model, inputs).graph.nodes)) > 10
        # as any other caller would
        again: Any = torch.export.export(model, inputs.args, strict=False)
        assert len(list(again.graph.nodes)) > 10


@pytest.mark.gpu
def test_a_model_is_converted_where_fp32_is_exact_on_a_gpu():
    model = made(ResNet).cuda()
    converter = ModelConverter(**OPTIONS)
    with exact(torch.device("cuda")), torch.inference_mode():
        converted = converter.convert_model(model, IMAGE)
        assert difference(result(converted, IMAGE), result(model, IMAGE)) <= 1e-5
    assert converter.conversion_stats.found_by == "torch.export"
    assert converter.conversion_stats.times_ms


def test_what_cannot_be_an_input_is_named():
    with pytest.raises(ValueError, match="input_shape is a str; expected sizes, a tensor"):
        inputs_of(nn.Linear(2, 2), "shape", CPU)
    assert inputs_of(made(BERT), (2, 12), CPU).args[0].dtype == torch.int64
    given = inputs_of(nn.Linear(2, 2), ids(2, 3), CPU)
    again = given.random(1)
    assert sorted(again.args[0].flatten().tolist()) == sorted(given.args[0].flatten().tolist())
    assert replace(given).key() == given.key()
