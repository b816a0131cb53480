"""FusedAttention and FusedFFN against nn.MultiheadAttention and nn.Linear, and their refusals."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.attention_wrapper import FusedAttention
from kernels.ffn_wrapper import FusedFFN
from kernels.ops.transformer.attention import choice as attention_choice
from kernels.ops.transformer.attention.choice import faster_reason

E, HEADS = 32, 4
VERSIONS = ("auto", "v3", "sdpa")


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def pair(version: Any = "auto", **options) -> tuple[FusedAttention, nn.MultiheadAttention]:
    """Return our module and PyTorch's with the same weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(E, HEADS, batch_first=True, **options)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = FusedAttention(E, HEADS, version, **options)
    ours.load_state_dict(theirs.state_dict())
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("version", [*VERSIONS, "v1", "v2"])
def test_self_attention_is_pytorchs(version, bias):
    ours, theirs = pair(version, bias=bias)
    x = normal(2, 9, E)
    got, weights = ours(x)
    torch.testing.assert_close(got, theirs(x, x, x)[0], atol=1e-5, rtol=1e-5)
    assert weights is None


def test_weights_are_returned_where_they_are_asked_for():
    ours, theirs = pair()
    x = normal(2, 9, E)
    for average in (True, False):
        options = {"need_weights": True, "average_attn_weights": average}
        for mine, expected in zip(
            ours(x, x, x, **options), theirs(x, x, x, **options), strict=True
        ):
            torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_and_values_may_be_others_and_samples_alone(version):
    ours, theirs = pair(version)
    q, k, v = normal(2, 5, E), normal(2, 11, E, seed=1), normal(2, 11, E, seed=2)
    torch.testing.assert_close(ours(q, k, v)[0], theirs(q, k, v)[0], atol=1e-5, rtol=1e-5)
    one = ours(q[0], k[0], v[0])[0]
    torch.testing.assert_close(one, theirs(q[0], k[0], v[0])[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("numbers", [False, True])
def test_masks_mean_what_they_mean_there(version, numbers):
    ours, theirs = pair(version)
    x = normal(2, 7, E)
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[1, 4:] = True
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1)
    by_head = normal(2 * HEADS, 7, 7, seed=3)
    if numbers:
        padding, mask = (
            torch.zeros(each.shape).masked_fill(each, -torch.inf) for each in (padding, mask)
        )
    for options in (
        {"key_padding_mask": padding},
        {"attn_mask": mask},
        {"attn_mask": by_head},
        {"key_padding_mask": padding, "attn_mask": mask},
    ):
        if not numbers and options.get("attn_mask") is by_head:
            continue
        expected = theirs(x, x, x, **options)[0]
        torch.testing.assert_close(ours(x, **options)[0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_causal_query_sees_no_later_key(version):
    ours, theirs = pair(version)
    x = normal(2, 7, E)
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1)
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[0, 5:] = True
    for options in ({}, {"key_padding_mask": padding}, {"need_weights": True}):
        expected = theirs(x, x, x, attn_mask=mask, **options)[0]
        got = ours(x, is_causal=True, **options)[0]
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_a_query_whose_keys_are_all_masked_gets_the_bias_alone():
    ours, _ = pair("v3")
    x = normal(1, 3, E)
    got = ours(x, key_padding_mask=torch.ones(1, 3, dtype=torch.bool))[0]
    torch.testing.assert_close(got, ours.out_proj.bias.expand(1, 3, E))


def test_a_residual_is_added():
    ours, theirs = pair()
    x, residual = normal(2, 5, E), normal(2, 5, E, seed=1)
    for options in ({}, {"need_weights": True}):
        expected = theirs(x, x, x)[0] + residual
        got = ours(x, residual=residual, **options)[0]
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_dropout_happens_in_training_alone(version):
    ours, theirs = pair(version, dropout=0.5)
    x = normal(2, 6, E)
    torch.testing.assert_close(ours(x)[0], theirs(x, x, x)[0], atol=1e-5, rtol=1e-5)
    ours.train()
    first, second = ours(x)[0], ours(x)[0]
    assert not torch.equal(first, second)
    torch.manual_seed(7)
    first = ours(x)[0]
    torch.manual_seed(7)
    assert torch.equal(ours(x)[0], first)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_can_be_trained(version):
    ours, theirs = pair(version)
    x = normal(2, 6, E)
    ours(x)[0].square().sum().backward()
    theirs(x, x, x)[0].square().sum().backward()
    for mine, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, expected.grad, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_first_rungs_refuse_what_they_have_not(version):
    ours, _ = pair(version)
    x = normal(1, 4, E)
    for options in ({"is_causal": True}, {"attn_mask": torch.zeros(4, 4)}, {"key": x + 1}):
        with pytest.raises(ValueError, match="self-attention without masks and dropout"):
            ours(x, **options)


@pytest.mark.parametrize(
    ("message", "given"),
    [
        ("version must be one of", (E, HEADS, "v4")),
        ("5 heads do not divide 32", (E, 5)),
        ("batch_first must be True", (E, HEADS, "auto", 0.0, True, False)),
    ],
)
def test_what_does_not_fit_is_a_value_error(message, given):
    with pytest.raises(ValueError, match=message):
        FusedAttention(*given)


def test_the_choice_says_why_pytorchs_runs():
    ours, _ = pair()
    assert "CPU" in ours.remark(torch.device("cpu"), torch.float16, 64)
    assert "float32" in faster_reason(torch.device("cuda"), torch.float32, 64, 64)


@pytest.mark.parametrize(
    ("why", "size", "length", "options"),
    [
        ("", 64, 1024, {}),
        ("faster for 4096 queries", 64, 4096, {}),
        ("", 64, 16384, {}),
        ("", 64, 4096, {"causal": True}),
        ("", 128, 4096, {}),
        ("", 32, 4096, {}),
        ("no native attention for heads of 48", 48, 1024, {}),
        ("with masks and dropout", 64, 1024, {"plain": False}),
        ("the faster backward", 64, 1024, {"gradients": True}),
    ],
)
def test_on_hopper_ours_runs_where_it_was_measured_to_be_faster(
    monkeypatch, why, size, length, options
):
    monkeypatch.setattr(attention_choice, "_capability", lambda _: (9, 0))
    said = faster_reason(torch.device("cuda"), torch.float16, size, length, **options)
    assert bool(said) == bool(why)
    assert why in said


def test_a_gpu_that_was_not_measured_runs_pytorchs(monkeypatch):
    monkeypatch.setattr(attention_choice, "_capability", lambda _: (8, 0))
    assert "not measured" in faster_reason(torch.device("cuda"), torch.float16, 64, 1024)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("residual", [False, True])
def test_the_feed_forward_network_is_two_layers_with_gelu(approximate, residual):
    torch.manual_seed(0)
    ours = FusedFFN(E, 48, approximate=approximate, residual=residual)
    x = normal(2, 5, E)
    expected = ours.fc2(F.gelu(ours.fc1(x), approximate=approximate)) + (x if residual else 0)
    torch.testing.assert_close(ours(x), expected, atol=1e-6, rtol=1e-6)
    assert list(ours.state_dict()) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    ours(x).sum().backward()
    assert all(parameter.grad is not None for parameter in ours.parameters())


@pytest.mark.parametrize("version", ["auto", "v3"])
def test_the_modules_compile_whole(version):
    ours, _ = pair(version)
    ffn = FusedFFN(E, 48, residual=True)
    x = normal(2, 5, E)

    def block(x: Tensor) -> Tensor:
        return ffn(ours(x, residual=x)[0])

    expected = block(x)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("version", [*VERSIONS, "v1", "v2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_on_a_gpu_every_version_errs_at_most_twice_as_much_as_pytorchs(version, dtype):
    theirs = nn.MultiheadAttention(128, 2, batch_first=True).cuda()
    ours = FusedAttention(128, 2, version).cuda()
    ours.load_state_dict(theirs.state_dict())
    x = normal(2, 65, 128).cuda()
    ours, theirs, x = ours.to(dtype).eval(), theirs.to(dtype).eval(), x.to(dtype)
    with torch.no_grad():
        got, expected = ours(x)[0], theirs(x, x, x)[0]
        exact = theirs.double()(*(x.double(),) * 3)[0]

    def error(found: Tensor) -> float:
        return float((found.double() - exact).abs().max())

    unit = torch.finfo(dtype).eps * float(exact.abs().max())
    assert error(got) <= 2 * error(expected) + unit
