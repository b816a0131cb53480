"""A precision computes what its name says, and reports its cost and where it is unavailable."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from app.engine.engine import Engine
from app.frame import Frame
from models import webgpu_devices
from models.precision import (
    BF16_IS_NO_GAIN,
    Precision,
    computing,
    int8_allowed,
    is_int8_allowed,
    sentences,
    tf32_allowed,
)
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_all

CPU = torch.device("cpu")


@pytest.mark.parametrize("precision", some_daily(Precision, 1, 2))
def test_only_the_precision_named_for_it_multiplies_in_tf32(
    catalog, config, monkeypatch, precision
):
    seen: list[tuple[bool, bool]] = []
    forward = TransformerNetBaseline.forward

    def watched(self, x, mark=None):
        backends = torch.backends
        allowed = (backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32)
        seen.append((bool(allowed[0]), bool(allowed[1])))
        return forward(self, x, mark)

    monkeypatch.setattr(TransformerNetBaseline, "forward", watched)
    offer_all(monkeypatch)
    engine = Engine(catalog)
    engine.configure(replace(config, kernels="baseline", precision=precision))
    with tf32_allowed(precision is not Precision.tf32):  # whatever the process allows
        before = torch.backends.cudnn.allow_tf32
        engine.process(Frame(picture(48, 32)))
        assert torch.backends.cudnn.allow_tf32 is before
    allowed = precision is Precision.tf32
    assert set(seen) == {(allowed, allowed)}


@pytest.mark.parametrize("before", [False, True])
def test_a_block_in_a_precision_decides_on_tf32_and_leaves_it_as_it_was(before, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", before)
    for precision, allowed in ((Precision.fp32, False), (Precision.tf32, True)):
        with computing(precision, CPU):
            assert torch.backends.cudnn.allow_tf32 is allowed
        with pytest.raises(ValueError, match="whatever"), computing(precision, CPU):
            raise ValueError("whatever")
        assert torch.backends.cudnn.allow_tf32 is before


def test_every_precision_but_fp32_steps_down_until_it_is_fp32():
    for precision in Precision:
        steps = [precision]
        while (safer := steps[-1].safer) is not None:
            assert safer.value.bits >= 8
            steps.append(safer)
            assert len(steps) <= len(Precision)
        assert steps[-1] is Precision.fp32


def test_a_mode_tells_how_many_bits_its_products_keep():
    assert {p.name: p.value.bits for p in Precision} == {
        "fp32": 24,
        "tf32": 11,
        "fp16": 11,
        "bf16": 8,
        "amp": 11,
        "int8": 8,
    }


def test_what_a_precision_costs_is_said_in_bits():
    assert Precision.fp32.cost == ""
    assert mentions(Precision.tf32.cost, "TF32 multiplies 11", "24 bits")


def test_a_cpu_refuses_each_precision_that_does_not_help_there_with_the_reason(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    told = {each: each.refusal(CPU) for each in Precision}
    assert [each for each in Precision if not told[each]] == [Precision.fp32, Precision.bf16]
    for each in (Precision.tf32, Precision.int8):
        assert told[each] == f"{each.title} needs a GPU"
    for each in (Precision.fp16, Precision.amp):
        assert mentions(told[each], each.title, "slower than FP32")
    assert all(each.remark(CPU) == each.refusal(CPU) for each in Precision)


def test_a_gpu_refuses_no_precision():
    assert not any(each.refusal(torch.device("cuda")) for each in Precision)


def test_a_cpu_without_bf16_instructions_refuses_bf16(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert mentions(Precision.bf16.refusal(CPU), "BF16", "no BF16 instructions")


def test_int8_says_where_it_is_fp16_or_slower_than_it(monkeypatch):
    for capability, remark in (
        ((7, 5), "INT8 runs as FP16 on this GPU"),
        ((8, 6), ""),
        ((9, 0), "INT8 is slower than FP16 on this GPU"),
        ((12, 0), ""),
    ):
        monkeypatch.setattr(
            torch.cuda, "get_device_capability", lambda _device, found=capability: found
        )
        assert Precision.int8.remark(torch.device("cuda")) == remark


def test_the_sentences_for_translations_are_all_that_a_precision_says(monkeypatch):
    said = {each.cost for each in Precision} | {BF16_IS_NO_GAIN}
    for present in (False, True):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda present=present: present)
        said |= {each.remark(CPU) for each in Precision}
    for capability in ((5, 0), (7, 5), (8, 0), (9, 0)):
        monkeypatch.setattr(
            torch.cuda, "get_device_capability", lambda _device, found=capability: found
        )
        said |= {each.remark(torch.device("cuda")) for each in Precision}
    for half in (False, True):
        adapters = (SimpleNamespace(half=half),)
        monkeypatch.setattr(webgpu_devices, "found", lambda adapters=adapters: adapters)
        said |= {each.remark(webgpu_devices.webgpu_device(0)) for each in Precision}
    assert set(sentences()) == said - {""}


def test_integers_are_allowed_inside_a_block_of_this_thread_alone():
    assert not is_int8_allowed()
    with int8_allowed(True):
        with int8_allowed(False):
            assert not is_int8_allowed()
        assert is_int8_allowed()
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(is_int8_allowed).result()
    assert not is_int8_allowed()


@pytest.mark.parametrize("precision", list(Precision))
def test_pictures_agree_up_to_the_bound_and_not_beyond(precision):
    most, least = precision.value.max_difference, precision.value.min_psnr
    if most is not None:  # the PSNR then does not count
        assert precision.agree(most, 0.0)[0]
        assert not precision.agree(most * 1.01, 99.0)[0]
        assert f"{most:g} of 255" in precision.agree(0.0, 99.0)[1]
    else:
        assert precision.agree(255.0, least)[0]
        assert not precision.agree(0.0, least - 0.01)[0]
        assert f"{least:g} dB" in precision.agree(0.0, 99.0)[1]


@pytest.mark.gpu
def test_on_a_gpu_fp32_is_closer_to_float64_than_tf32_is():
    torch.manual_seed(0)
    x, weight = torch.randn(1, 64, 64, 64).cuda(), torch.randn(64, 64, 3, 3).cuda()
    exact = torch.nn.functional.conv2d(x.double(), weight.double())
    errors = []
    for precision in (Precision.fp32, Precision.tf32):
        with tf32_allowed(precision.value.tf32):
            got = torch.nn.functional.conv2d(x, weight)
        errors.append(float((got - exact).abs().max()))
    assert errors[0] < errors[1] / 10
