"""Converted models match their originals when their state changes, or a call changes it."""

from __future__ import annotations

import copy
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from kernel_fusion.auto_convert import ModelConverter, by_module
from kernel_fusion.auto_convert.comparison import difference
from kernel_fusion.auto_convert.graphs import exported
from kernel_fusion.auto_convert.inputs import Inputs, inputs_of
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.rewrites import REWRITES
from tests.helpers.daily import some_daily
from tests.kernel_fusion.auto_convert.changing import fault_of
from tests.kernel_fusion.auto_convert.families import IMAGE, Branching, shaken


class Layers(nn.Module):
    """Two layers; subclasses define how the forward uses them."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.table = nn.Parameter(torch.randn(4))
        self.calls, self.last = 0, None

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


def converted_of(model: nn.Module, given: Any) -> tuple[Any, Any]:
    converter = ModelConverter(keep_slower=True, timed_runs=1)
    return converter.convert_model(model.eval(), given), converter.conversion_stats


@pytest.fixture
def x() -> Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("seed", some_daily(range(12), 0, 3, 10))
def test_a_converted_model_that_is_changed_between_calls_is_as_the_original(seed):
    assert fault_of(seed) == ""


def test_merged_layers_read_weights_that_no_version_counts(x):
    class Merged(Layers):
        def __init__(self) -> None:
            super().__init__()
            self.other = nn.Linear(4, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.net[0](x) * self.other(x)

    model = Merged().eval()
    inputs = inputs_of(model, x, torch.device("cpu"))
    program = Program(exported(model, inputs), list(REWRITES), Execution(merged_layers=True))
    assert program.changed["merged_layers"] == 2
    with torch.no_grad():
        program(inputs)
        model.other.weight.data.mul_(3)
        assert difference(program(inputs), model(x)) <= 1e-6


def test_an_output_has_memory_of_its_own_where_the_original_s_has(x):
    class Aliasing(Layers):
        def forward(self, x: Tensor) -> Any:
            y = self.net(x)
            return y, y.clone(), x.clone(), torch.arange(4.0), self.table * 2, torch.tensor([1.0])

    converted, stats = converted_of(Aliasing(), x)
    assert stats.found_by == "torch.export"
    given = x.clone()
    with torch.no_grad():
        expected = [each.clone() for each in converted(given)]
        found = converted(given)
        for n, each in enumerate(found):
            each.add_(5)
            assert all(
                torch.equal(a, b) for a, b in zip(found[n + 1 :], expected[n + 1 :], strict=True)
            )
        assert torch.equal(given, x)
        assert all(map(torch.equal, converted(given), expected))


def test_an_output_shares_memory_where_the_original_s_does(x):
    class Sharing(Layers):
        def forward(self, x: Tensor) -> Any:
            y = self.net(x)
            return y, y[0], x.view(-1), self.table

    converted, stats = converted_of(Sharing(), x)
    assert stats.found_by == "torch.export"
    with torch.no_grad():
        y, row, flat, table = converted(given := x.clone())
        y.zero_()
        flat.fill_(2)
        assert not row.any()
        assert torch.equal(given, torch.full_like(x, 2))
        assert table is converted.table


def test_a_renamed_key_and_an_equal_value_of_another_type_are_seen(x):
    class Reading(Layers):
        def __init__(self) -> None:
            super().__init__()
            self.names, self.factor = {"add": True}, cast("float", 2)

        def forward(self, x: Tensor) -> Any:
            y = self.net(x) + ("add" in self.names)
            return y * 3 if isinstance(self.factor, float) else y

    original = Reading()
    converted, stats = converted_of(copy.deepcopy(original), x)
    with torch.no_grad():
        assert difference(converted(x), original(x)) <= 1e-6
    assert stats.found_by == "torch.export"
    assert not stats.skipped  # a model with containers runs its program
    with torch.no_grad():
        for model in (original, converted):
            model.names["subtract"] = model.names.pop("add")
        assert difference(converted(x), original(x)) <= 1e-6
        for model in (original, converted):
            model.names["add"] = model.names.pop("subtract")
            model.factor = 2.0
        assert difference(converted(x), original(x)) <= 1e-6


def test_an_output_has_the_strides_of_the_original_s():
    model = shaken(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()))
    inputs = inputs_of(model, IMAGE, torch.device("cpu"))
    program = Program(exported(model, inputs), list(REWRITES), Execution(channels_last=True))
    with torch.no_grad():
        assert program(inputs).stride() == model(*inputs.args).stride()


def _counts(self: Any, x: Tensor) -> Tensor:
    self.calls += 1
    return self.net(x)


def _keeps(self: Any, x: Tensor) -> Tensor:
    self.last = self.net(x)
    return self.last


def _counts_in_a_buffer(self: Any, x: Tensor) -> Tensor:
    self.table.data.add_(1)
    return self.net(x) + self.table


def _draws(self: Any, x: Tensor) -> Tensor:
    return self.net(x) + torch.randn_like(x)


def _writes(self: Any, x: Tensor) -> Tensor:
    return self.net(x.mul_(2))


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (_counts, "its forward changes the model: 'calls' was changed"),
        (_keeps, "its forward changes the model: 'last' was changed"),
        (_counts_in_a_buffer, "its forward changes the model: 'table' was written to"),
        (_draws, "it draws random numbers in evaluation mode"),
        (_writes, "it writes to its input"),
    ],
)
def test_a_forward_that_does_more_than_compute_is_not_exported_nor_called_on_the_copy(
    forward, reason, x
):
    model = type("Model", (Layers,), {"forward": forward})()
    table, given = model.table.detach().clone(), x.clone()
    converted, stats = converted_of(model, given)
    assert [(each.what, each.reason) for each in stats.skipped] == [("torch.export", reason)]
    assert torch.equal(given, x)
    assert torch.equal(converted.table, table)
    with torch.no_grad():
        state = torch.get_rng_state()
        expected = model(x.clone())
        torch.set_rng_state(state)
        assert difference(converted(x.clone()), expected) <= 1e-6
    assert (converted.calls, converted.last is None) == (model.calls, model.last is None)
    assert torch.equal(converted.table, model.table)


def test_the_figures_say_that_the_original_runs_while_it_has_hooks(x):
    model = Layers().eval()
    converted, stats = converted_of(model, x)
    assert stats.linear_relu_replaced == 1
    seen: list[Any] = []
    for register in (converted.net[0].register_forward_hook, register_module_forward_hook):
        handle = register(lambda module, args, y: seen.append(module))
        with torch.no_grad():
            converted(x)
        handle.remove()
        assert converted.net[0] in seen
        assert (stats.total_replaced, stats.execution) == (0, "as the original")
        with torch.no_grad():
            seen.clear()
            assert difference(converted(x), model(x)) <= 1e-6
        assert not seen
        assert stats.linear_relu_replaced == 1
    assert "'net.0._forward_hooks" in stats.skipped[0].reason
    assert "global module hooks" in stats.skipped[1].reason
    model.net[1].register_forward_hook(lambda module, args, y: y)
    _, stats = converted_of(model, x)
    assert "hooks of net.1" in stats.skipped[0].reason


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_model_that_is_no_plain_module_is_copied_with_a_reason(x):
    plain = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).eval()
    models: dict[str, Any] = {
        "TorchScript": torch.jit.trace(plain, x),
        "torch.compile": torch.compile(plain, backend="eager"),
        "meta": nn.Linear(4, 8).to("meta"),
        "hooks": nn.utils.weight_norm(nn.Linear(4, 8)),
    }
    for word, model in models.items():
        converted, stats = converted_of(model, x)
        assert word in stats.skipped[0].reason
        assert stats.total_replaced == 0
        assert converted is not model


def test_an_example_that_the_model_refuses_is_an_error_and_random_inputs_are_left_out(x):
    class Looking(Layers):
        def forward(self, x: Tensor, at: Tensor) -> Tensor:  # pyright: ignore
            return self.net(x + F.embedding(at.long(), torch.ones(10, 4)))

    _, stats = converted_of(Looking(), (x, torch.tensor([1.0, 5.0, 9.0])))
    assert stats.linear_relu_replaced == 1
    with pytest.raises(ValueError, match="Sequential refuses the example: mat1 and mat2"):
        converted_of(Layers().net, (3, 5))
    _, stats = converted_of(Layers(), (0, 4))
    assert stats.linear_relu_replaced == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_converted_model_is_exported_traced_and_scripted_as_the_original(x):
    converted, _ = converted_of(Layers(), x)
    with torch.no_grad():
        expected = Layers.forward(converted, x)
        assert torch.equal(torch.export.export(converted, (x,)).module()(x), expected)
        traced: Any = torch.jit.trace(converted, x)
        assert torch.equal(traced(x), expected)
        scripted: Any = torch.jit.script(converted.net)
        assert torch.equal(scripted(x), expected)
        assert torch.equal(torch.vmap(converted)(x[None])[0], expected)


def test_layers_that_are_computed_together_are_those_of_the_moment():
    model: Any = shaken(Branching())
    converted, stats = converted_of(model, IMAGE)
    assert stats.found_by == "modules"
    given, seen = torch.randn(IMAGE), list[Any]()
    for each in (model, converted):
        each.image[2], each.head[1], each.image[1].eps = nn.Tanh(), nn.SiLU(), 0.5
        each.head[2].weight.data.mul_(2)
    converted.image[0].register_forward_hook(lambda module, args, y: seen.append(y))
    with torch.no_grad():
        assert difference(converted(given), model(given)) <= 1e-5
        assert torch.equal(seen[0], model.image[0](given))


def test_layers_that_compute_another_result_together_are_left_alone(monkeypatch):
    class Wrong(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return nn.Linear.forward(self, input).relu().square()

    monkeypatch.setitem(by_module.PAIRS, (nn.Linear, nn.ReLU), (Wrong, "linear_relu"))
    model = shaken(Branching())
    converted, stats = converted_of(model, IMAGE)
    assert [each.what for each in stats.skipped] == ["torch.export", "modules"]
    assert "results differ by" in stats.skipped[1].reason
    assert stats.total_replaced == 0
    given = torch.randn(IMAGE)
    with torch.no_grad():
        assert torch.equal(converted(given), model(given))


def test_arguments_of_a_call_are_told_apart_by_value_and_layout(x):
    def key(*args: Any) -> Any:
        return Inputs.of(args, {}).key()

    assert key(x, 0.0) != key(x, -0.0)
    assert key(x, 1) != key(x, True)
    assert key(x, float("nan")) == key(x, float("nan"))
    assert key(x.t()) != key(x.t().contiguous())
    assert key(changing := object()) != key(changing)
