"""An autograd thread gets its GPU's context once, and keeps a context that it already has."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_int
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from kernels.driver import context
from kernels.driver.context import ensure_context
from kernels.jit.errors import BuildError


def on_gpu(index: int) -> Tensor:
    return cast("Any", SimpleNamespace(is_cuda=True, device=SimpleNamespace(index=index)))


@pytest.fixture
def contexts(driver, stub, monkeypatch):
    """Return the count of contexts made current, with the stub as the driver."""
    monkeypatch.setattr(context, "_driver", lambda: driver)
    count = c_int.in_dll(stub, "stub_contexts_set")
    count.value = 0
    return count


def test_a_thread_without_a_context_gets_one_once(contexts):
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            pool.submit(ensure_context, (None, on_gpu(0))).result()
            assert contexts.value == 1
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ensure_context, (on_gpu(0),)).result()
    assert contexts.value == 2


def test_a_thread_that_has_a_context_keeps_it(contexts, driver):
    def first_another() -> None:
        driver.make_current(0)
        ensure_context((on_gpu(0),))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(first_another).result()
    assert contexts.value == 1


def test_tensors_on_the_cpu_need_none(contexts):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ensure_context, (None, torch.ones(1))).result()
        pool.submit(ensure_context, (None,)).result()
        assert contexts.value == 0
        pool.submit(ensure_context, (on_gpu(0),)).result()  # it still gets a context
    assert contexts.value == 1


def test_a_driver_that_is_too_old_is_pytorchs_alone(monkeypatch):
    def refuse() -> None:
        raise BuildError("too old")

    monkeypatch.setattr(context, "Driver", refuse)
    context._driver.cache_clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ensure_context, (on_gpu(0),)).result()
    context._driver.cache_clear()


@pytest.mark.gpu
def test_backward_on_a_named_stream_warns_of_no_context():
    """It runs in a child process: PyTorch warns once, and autograd threads stay alive."""
    code = """
import torch
import kernel_fusion as kf

kf.prepare()
q, k = (torch.randn(64, 64, device="cuda", requires_grad=True) for _ in range(2))
with torch.cuda.stream(torch.cuda.Stream()):
    weights = kf.ops.attention_score(q, k)
    grad = torch.ones_like(weights)
    torch.autograd.grad(weights, (q, k), grad)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n"
    assert "no current CUDA context" not in done.stderr
