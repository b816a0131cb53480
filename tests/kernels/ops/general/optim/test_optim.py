"""Optimizers step like PyTorch's, and each loads the other's state."""

from __future__ import annotations

import copy
from typing import Any, cast

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.table.registry import OPS, prepare

ON = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
PAIRS: list[tuple[Any, Any, dict[str, Any]]] = [
    (kf.optim.FusedAdam, torch.optim.Adam, {"weight_decay": 0.1, "maximize": True}),
    (kf.optim.FusedAdamW, torch.optim.AdamW, {"weight_decay": 0.1, "betas": (0.8, 0.9)}),
    (kf.optim.FusedAdamW, torch.optim.AdamW, {"betas": (0.0, 0.9), "eps": 1e-3}),
    (kf.optim.FusedSGD, torch.optim.SGD, {"weight_decay": 0.1}),
    (kf.optim.FusedSGD, torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "maximize": True}),
    (kf.optim.FusedSGD, torch.optim.SGD, {"momentum": 0.9, "dampening": 0.5}),
]
EACH = pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
SHAPES = ((3, 5), (70,), (2, 3, 4, 4), (129, 64))


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare(["adam_step"]):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready, status


def normals(seed: int, device: str, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    found = [torch.randn(shape, generator=generator).to(device, dtype) for shape in SHAPES]
    found[2] = found[2].contiguous(memory_format=torch.channels_last)
    return found


def parameters(device: str, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [torch.nn.Parameter(x) for x in normals(0, device, dtype)]


def gradient(x: Tensor) -> Tensor:
    assert x.grad is not None
    return x.grad


def groups(params: list[Tensor]) -> list[dict[str, Any]]:
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.03}]


def take_steps(optimizer: Any, params: list[Tensor], first: int, last: int) -> None:
    for number in range(first, last):
        for x, grad in zip(params, normals(number + 1, "cpu", torch.float32), strict=True):
            x.grad = grad.to(x)
        if number == 0:
            params[1].grad = None  # gets its first gradient later
        optimizer.step()


@ON
@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_steps_are_pytorchs(ours, theirs, options, device, dtype):
    mine, eager = parameters(device, dtype), parameters(device, dtype)
    take_steps(ours(groups(mine), lr=0.01, **options), mine, 0, 5)
    take_steps(theirs(groups(eager), lr=0.01, **options), eager, 0, 5)
    torch.testing.assert_close(mine, eager, atol=2e-6, rtol=2e-6)


@ON
@EACH
def test_each_loads_the_others_state(ours, theirs, options, device):
    mine, eager = parameters(device), parameters(device)
    first, second = (
        ours(groups(mine), lr=0.01, **options),
        theirs(groups(eager), lr=0.01, **options),
    )
    take_steps(first, mine, 0, 3)
    take_steps(second, eager, 0, 3)
    saved, other = (copy.deepcopy(each.state_dict()) for each in (first, second))
    assert saved["param_groups"][1].keys() == other["param_groups"][1].keys()
    assert [each.keys() for each in saved["state"].values()] == [
        each.keys() for each in other["state"].values()
    ]
    first, second = ours(groups(mine)), theirs(groups(eager))
    first.load_state_dict(first.state_dict())
    assert not first.state_dict()["state"]
    first.load_state_dict(other)
    second.load_state_dict(saved)
    take_steps(first, mine, 3, 6)
    take_steps(second, eager, 3, 6)
    torch.testing.assert_close(mine, eager, atol=2e-6, rtol=2e-6)


@ON
@EACH
def test_dtypes_are_mixed_and_rounded_once(ours, theirs, options, device):
    mine, wide = parameters(device), parameters(device)
    for at, dtype in enumerate((torch.float16, torch.bfloat16)):
        mine[at] = torch.nn.Parameter(mine[at].to(dtype))
        wide[at] = torch.nn.Parameter(mine[at].detach().float())
    take_steps(ours(mine, lr=0.01, **options), mine, 1, 2)
    take_steps(theirs(wide, lr=0.01, **options), wide, 1, 2)
    for x, exact in zip(mine, wide, strict=True):
        # The first gradient was rounded too, but Adam's first step barely depends on it.
        unit = torch.finfo(x.dtype).eps
        torch.testing.assert_close(x.float(), exact, atol=2 * unit, rtol=2 * unit)


@ON
@EACH
def test_a_scaler_skips_the_step_that_overflows(ours, theirs, options, device):
    found = []
    for kind, fused in ((ours, {}), (theirs, {"fused": True})):
        params = parameters(device)
        optimizer = kind(params, lr=0.01, **options, **fused)
        scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=100)
        for number in range(4):
            pairs = zip(params, normals(number, device, torch.float32), strict=True)
            loss = torch.stack([(x * y).sum() for x, y in pairs]).sum()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            if number == 2:
                gradient(params[0])[0] = torch.inf
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 4.0
        found.append((params, [state.get("step") for state in optimizer.state.values()]))
    torch.testing.assert_close(found[0], found[1], atol=2e-6, rtol=2e-6)


@ON
def test_schedulers_hooks_and_closures_work(device):
    params = parameters(device)
    optimizer = kf.optim.FusedAdamW(params, lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.0 if step else 1.0)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("step"))

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = torch.stack([x.square().sum() for x in params]).sum()
        loss.backward()
        return loss

    first = optimizer.step(closure)
    schedule.step()
    second, third = optimizer.step(closure), optimizer.step(closure)
    assert first > second == third  # the learning rate is 0 from the second step on
    assert seen == ["step"] * 3


def test_the_number_of_threads_changes_no_bit():
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            params = parameters("cpu")
            take_steps(kf.optim.FusedAdamW(params), params, 0, 2)
            found.append([*params, kf.optim.clip_grad_norm(params, 1.0), *(x.grad for x in params)])
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))


@ON
@pytest.mark.parametrize("kind", [1.0, 2.0, torch.inf, 3.0])
@pytest.mark.parametrize("most", [0.5, 1e6])
def test_gradients_are_clipped_as_pytorch_clips_them(device, kind, most):
    mine, eager = parameters(device), parameters(device)
    for params in (mine, eager):
        for x, grad in zip(params, normals(1, device, torch.float32), strict=True):
            x.grad = grad.clone()
        params[0].grad = None
    found = kf.optim.clip_grad_norm(iter(mine), most, kind)
    expected = torch.nn.utils.clip_grad_norm_(eager, most, kind)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    theirs = [x.grad for x in eager[1:]]
    torch.testing.assert_close([x.grad for x in mine[1:]], theirs, atol=1e-5, rtol=1e-5)
    assert kf.optim.clip_grad_norm(mine[0], 1.0) == 0
    gradient(mine[1])[0] = torch.inf
    with pytest.raises(RuntimeError, match=r"norm of type .* is (inf|nan); expected a finite one"):
        kf.optim.clip_grad_norm(mine, 1.0, kind, error_if_nonfinite=True)


def test_what_has_no_kernel_is_refused_or_computed_by_pytorch():
    x, rate = torch.nn.Parameter(torch.ones(4, 6).t()), cast("float", torch.tensor(0.1))
    with pytest.raises(ValueError, match="FusedAdamW: amsgrad is True; expected False"):
        kf.optim.FusedAdamW([x], amsgrad=True)
    with pytest.raises(ValueError, match="FusedSGD: lr is a tensor; expected a number"):
        kf.optim.FusedSGD([x], lr=rate)
    optimizer = kf.optim.FusedSGD([x], lr=0.5)
    x.grad = torch.ones(6, 4).to_sparse()
    with pytest.raises(ValueError, match="FusedSGD: a gradient is sparse; expected dense"):
        optimizer.step()
    x.grad = torch.arange(24.0).view(6, 4)  # its layout differs from the parameter's
    optimizer.step()
    assert torch.equal(x, 1 - torch.arange(24.0).view(6, 4) / 2)
    theirs = torch.optim.AdamW([x], amsgrad=True)
    theirs.step()
    with pytest.raises(ValueError, match="FusedAdamW: amsgrad is True"):
        kf.optim.FusedAdamW([x]).load_state_dict(theirs.state_dict())


def test_what_does_not_fit_is_named():
    x, step, numbers = torch.ones(3), torch.ones(()), (0.1, 0.9, 0.999, 1e-8, 0.0, True, False)
    adam, sgd = OPS["adam_step"].operation, OPS["sgd_step"].operation
    with pytest.raises(ValueError, match=r"grads\[0\] is torch\.float32 \[2\] on cpu; expected"):
        adam([x], [x[:2]], [x], [x], [step], *numbers)
    with pytest.raises(ValueError, match="exp_avgs has 0 tensors; expected 1"):
        adam([x], [x], [], [x], [step], *numbers)
    with pytest.raises(ValueError, match=r"steps is torch\.int64 \[\] on cpu; expected one elem"):
        adam([x], [x], [x], [x], [step.long()], *numbers)
    with pytest.raises(ValueError, match="steps has 0 tensors; expected 1"):
        adam([x], [x], [x], [x], [], *numbers)
    with pytest.raises(ValueError, match=r"params\[0\] is a tensor of torch\.int64; expected"):
        sgd([x.long()], [x], [], 0.1, 0.0, 0.0, 0.0, False, False)
    with pytest.raises(ValueError, match="norm_type is nan; expected a number"):
        kf.ops.total_norm([x], torch.nan)
    with pytest.raises(ValueError, match=r"total_norm is torch\.float32 \[3\] on cpu; expected"):
        kf.ops.clip_grads_with_norm([x], x, 1.0)


@pytest.mark.gpu
def test_a_cuda_graph_replays_a_step():
    params, eager = parameters("cuda"), parameters("cuda")
    optimizer, other = kf.optim.FusedAdamW(params), torch.optim.AdamW(eager, fused=True)
    take_steps(optimizer, params, 1, 3)
    take_steps(other, eager, 1, 3)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    for _ in range(3):
        graph.replay()
        other.step()
    torch.testing.assert_close(params, eager, atol=2e-6, rtol=2e-6)


OPTIONS = [
    *PAIRS,
    (kf.optim.FusedSGD, torch.optim.SGD, {}),
    (kf.optim.FusedSGD, torch.optim.SGD, {"momentum": 0.9, "dampening": 1.0, "weight_decay": 0.1}),
    (kf.optim.FusedAdam, torch.optim.Adam, {"betas": (0.9, 0.0)}),
    (kf.optim.FusedAdamW, torch.optim.AdamW, {"weight_decay": 0.0, "betas": (0.3, 0.9)}),
]
BAD = (1.0, 0.0, torch.inf, -torch.inf, torch.nan, 3e38, -1e20, 1e-40)


@ON
@pytest.mark.parametrize(("ours", "theirs", "options"), OPTIONS)
@pytest.mark.parametrize("is_native", [True, False])
def test_infinities_and_nan_become_what_the_loop_of_pytorch_makes_of_them(
    monkeypatch, ours, theirs, options, is_native, device
):
    def after_steps(optimizer: Any, x: Tensor) -> list[Tensor]:
        for number in range(3):  # each number meets each gradient
            x.grad = torch.tensor(BAD * len(BAD), device=device).roll(5 * number)
            optimizer.step()
        return [x.detach(), *(kept for kept in optimizer.state[x].values() if kept.dim())]

    if not is_native:
        for name in ("adam_step", "sgd_step"):
            monkeypatch.setattr(kf.optim, name, OPS[name].reference)
    numbers = torch.tensor(BAD, device=device).repeat_interleave(len(BAD))
    mine, eager = (torch.nn.Parameter(numbers.clone()) for _ in range(2))
    found = after_steps(ours([mine], lr=0.1, **options), mine)
    right = after_steps(theirs([eager], lr=0.1, foreach=False, **options), eager)
    torch.testing.assert_close(found, right, atol=1e-6, rtol=1e-5, equal_nan=True)


@ON
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sgd_in_16_bits_stays_near_float64(device, dtype):
    """On a CPU, PyTorch 2.13's fused SGD does not update whole vectors of 16 bits."""
    mine = parameters(device, dtype)
    wide = [torch.nn.Parameter(x.detach().double()) for x in mine]
    ours = kf.optim.FusedSGD(mine, lr=0.1, momentum=0.9)
    exact = torch.optim.SGD(wide, lr=0.1, momentum=0.9)
    for number in range(1, 6):
        for x, y, grad in zip(mine, wide, normals(number, device, dtype), strict=True):
            x.grad, y.grad = grad, grad.double()
        ours.step()
        exact.step()
    unit = torch.finfo(dtype).eps
    for x, right in zip(mine, wide, strict=True):
        torch.testing.assert_close(x.double(), right, atol=8 * unit, rtol=4 * unit)


def refused_states(x: Tensor) -> dict[str, tuple[dict[str, Any], str]]:
    def saved(optimizer: Any, **changed: Any) -> dict[str, Any]:
        optimizer.step()
        state = optimizer.state_dict()
        state["param_groups"][0].update(changed)
        return state

    other = torch.nn.Parameter(torch.ones(2, 2))
    other.grad = torch.ones(2, 2)
    return {
        "amsgrad": (saved(torch.optim.Adam([x], amsgrad=True)), "amsgrad is True; expected False"),
        "rate": (saved(torch.optim.Adam([x]), lr=torch.ones(())), "lr is a tensor"),
        "differentiable": (saved(torch.optim.Adam([x]), differentiable=True), "differentiable is"),
        "of SGD": (saved(torch.optim.SGD([x])), "a group of the state has no 'betas'"),
        "shape": (saved(torch.optim.Adam([other])), r"exp_avg has the shape \[2, 2\]; expected"),
    }


@pytest.mark.parametrize("name", ["amsgrad", "rate", "differentiable", "of SGD", "shape"])
def test_a_state_that_is_refused_changes_nothing(name):
    x = torch.nn.Parameter(torch.arange(5.0))
    x.grad = torch.ones(5)
    state, reason = refused_states(x)[name]
    optimizer = kf.optim.FusedAdam([x], lr=0.1)
    optimizer.step()
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(ValueError, match=f"FusedAdam: {reason}"):
        optimizer.load_state_dict(state)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    torch.testing.assert_close(after["state"], before["state"], atol=0, rtol=0)
    optimizer.step()


def test_a_group_or_a_gradient_that_is_refused_changes_nothing():
    first, second = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    optimizer = kf.optim.FusedAdamW([first], lr=0.1)
    with pytest.raises(ValueError, match="FusedAdamW: amsgrad is True; expected False"):
        optimizer.add_param_group({"params": [second], "amsgrad": True})
    assert len(optimizer.param_groups) == 1
    optimizer.add_param_group({"params": [second]})
    first.grad, second.grad = torch.ones(3), torch.ones(3).to_sparse()
    with pytest.raises(ValueError, match="FusedAdamW: a gradient is sparse; expected dense"):
        optimizer.step()
    assert torch.equal(first, torch.ones(3))
    assert not optimizer.state
    second.grad = None
    second.data = second.data.to(torch.complex64)
    second.grad = torch.ones(3, dtype=torch.complex64)
    with pytest.raises(ValueError, match=r"FusedAdamW: params\[0\] is a tensor of torch\.complex"):
        optimizer.step()
    second.grad = None
    optimizer.step()
    assert optimizer.state[first]["step"] == 1


@EACH
def test_parameters_may_become_float64_between_steps(ours, theirs, options):
    mine, eager = (torch.nn.Parameter(torch.ones(5)) for _ in range(2))
    optimizer = ours([mine], lr=0.1, **options)
    other = theirs([eager], lr=0.1, foreach=False, **options)
    for dtype in (torch.float32, torch.float64):
        for x, each in ((mine, optimizer), (eager, other)):
            x.data, x.grad = x.data.to(dtype), None
            x.grad = torch.arange(5.0, dtype=dtype)
            for kept in each.state[x].values() if x is eager else ():
                kept.data = kept.data.to(dtype) if kept.dim() else kept
            each.step()
    torch.testing.assert_close(mine, eager, atol=1e-6, rtol=1e-6)


def test_arguments_that_choose_the_way_of_a_step_are_taken_and_change_nothing():
    x = torch.nn.Parameter(torch.ones(3))
    x.grad = torch.ones(3)
    ways: list[dict[str, Any]] = [{"foreach": True}, {"fused": True}, {"capturable": True}]
    for options in (*ways, {"fused": False}):
        x.data.fill_(1.0)
        kf.optim.FusedAdamW([x], lr=0.1, weight_decay=0.0, **options).step()  # pyright: ignore
        torch.testing.assert_close(x.detach(), torch.full((3,), 0.9))
    for optimizer in (kf.optim.FusedAdam, kf.optim.FusedAdamW, kf.optim.FusedSGD):
        with pytest.raises(ValueError, match="differentiable is True; expected False"):
            optimizer([x], differentiable=True)


def test_adam_decays_apart_from_the_gradient_where_its_group_says_so():
    x, y = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    x.grad = y.grad = torch.ones(3)
    adam, adamw = kf.optim.FusedAdam([x]), torch.optim.AdamW([y], lr=0.1, weight_decay=0.5)
    adam.load_state_dict(adamw.state_dict())
    adam.step()
    adamw.step()
    torch.testing.assert_close(x, y)


@pytest.mark.parametrize("kind", [0.0, -1.0, -torch.inf, 0.5])
def test_norms_of_other_types_are_pytorchs(kind):
    params = [torch.nn.Parameter(torch.ones(size)) for size in (3, 1, 4)]
    for x, value in zip(params, (2.0, 0.0, 3.0), strict=True):
        x.grad = torch.full_like(x, value)
    right = torch.nn.utils.get_total_norm([gradient(x) for x in params], kind)
    torch.testing.assert_close(kf.ops.total_norm([gradient(x) for x in params], kind), right)
    torch.testing.assert_close(kf.optim.clip_grad_norm(params, 1e9, kind), right)
