"""Other runtimes paint the network's own picture in the requested precision, or say why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import util
from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.network_config import NetworkConfig
from models.precision import Precision
from models.runtimes import runtime as runtimes
from models.runtimes.openvino import OpenVino, openvino_module
from models.runtimes.runtime import RuntimeFault
from models.runtimes.table import RUNTIMES
from models.transformer_net import IN_RUNTIMES, TransformerNetBaseline, TransformerNetInRuntime
from tests.helpers.daily import some_daily

SMALL = NetworkConfig(1, (8, 8, 8), 5)
ROOT = Path(__file__).resolve().parents[3]
HERE = ("openvino", "onnxruntime")  # their CPU devices exist on every machine
each_runtime = pytest.mark.parametrize("key", HERE)


def baseline(seed: int) -> TransformerNetBaseline:
    torch.manual_seed(seed)
    return TransformerNetBaseline(**asdict(SMALL)).requires_grad_(False).eval()


def picture(height: int, width: int, count: int = 1) -> Tensor:
    return torch.rand(count, 3, height, width, generator=torch.Generator().manual_seed(7)) * 255


@pytest.fixture(scope="module")
def network() -> Callable[[str], TransformerNetInRuntime]:
    """Return a function from a runtime's key to the network, exported once for each runtime."""
    made: dict[str, TransformerNetInRuntime] = {}

    def get(key: str) -> TransformerNetInRuntime:
        if key not in made:
            made[key] = IN_RUNTIMES[key](**asdict(SMALL)).requires_grad_(False).eval()
        return made[key]

    return get


@pytest.mark.parametrize("key", some_daily(HERE, 1))
def test_a_runtime_paints_the_networks_own_picture_at_any_size(network, key):
    there, ours = network(key), baseline(1)
    there.load_state_dict(ours.state_dict())
    with torch.inference_mode():
        for x in (picture(48, 64), picture(37, 50), picture(48, 64, count=2)):
            painted, expected = there(x), ours(x)
            assert painted.shape == x.shape
            assert float((painted - expected).abs().max()) < 0.001
            assert float(expected.std()) > 0.1


@pytest.mark.full
@each_runtime
def test_new_weights_paint_the_next_picture(network, key):
    there, x = network(key), picture(48, 64)
    for seed in (2, 3):
        ours = baseline(seed)
        there.load_state_dict(ours.state_dict())
        with torch.inference_mode():
            assert float((there(x) - ours(x)).abs().max()) < 0.001


@each_runtime
def test_a_precision_that_the_runtime_lacks_is_refused_and_not_replaced(network, key):
    there = network(key)
    offered = there.runtime.precisions()
    assert Precision.fp32 in offered
    for precision in {Precision.fp16, Precision.bf16} - set(offered):
        with pytest.raises(RuntimeFault, match=f"not in {precision.title}"):
            there.to(precision.value.dtype)(picture(48, 64).to(precision.value.dtype))
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(RuntimeFault, match=r"FP32.*AMP"),
    ):
        there(picture(48, 64))


@pytest.mark.full
def test_openvino_that_would_compute_in_something_else_is_not_used(network):
    there = network("openvino")
    lacking = {Precision.fp16, Precision.bf16} - set(there.runtime.precisions())
    if not lacking:
        pytest.skip("this processor computes in everything")
    model = there._executor._onnx(there, baseline(1))
    for precision in lacking:  # as on the first query
        with pytest.raises(RuntimeFault, match="OpenVINO CPU computes in"):
            OpenVino("CPU").compile(model, precision, (64, 48))


def test_a_device_that_is_not_there_is_named_with_those_that_are():
    assert OpenVino("TPU").refusal() == _refusal_of_a_tpu()
    assert RUNTIMES["onnxruntime"].refusal() == ""


def _refusal_of_a_tpu() -> str:
    found = openvino_module().Core().available_devices
    return f"OpenVINO found no TPU on this machine, only {', '.join(found)}"


@pytest.mark.full
def test_openvino_is_used_without_what_reports_its_use():
    code = (
        "import sys, threading\n"
        "from models.runtimes.table import RUNTIMES\n"
        "assert RUNTIMES['openvino'].refusal() == ''\n"
        "assert 'openvino' in sys.modules\n"
        "print([name for name in sys.modules if 'openvino_telemetry' in name])\n"
        "print([thread.name for thread in threading.enumerate()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["[]", "['MainThread']"]


@pytest.mark.full
def test_openvino_may_be_asked_by_several_threads_at_once():
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from models.runtimes.openvino import openvino_module\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    modules = list(pool.map(lambda _: openvino_module(), range(4)))\n"
        "print(len({id(module) for module in modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"


@pytest.mark.full
def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys\n"
        "import app.commands.bench, app.commands.export, models.transformer_net\n"
        "print([name for name in ('onnx', 'onnxscript', 'onnxruntime', 'openvino')\n"
        "       if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@each_runtime
def test_a_package_that_is_not_installed_is_named_with_what_installs_it(monkeypatch, key):
    find = util.find_spec
    monkeypatch.setattr(
        runtimes, "find_spec", lambda name: None if name == "onnxscript" else find(name)
    )
    runtime = RUNTIMES[key]
    extra = {"openvino": "openvino", "onnxruntime": "onnx"}[key]
    expected = f"{runtime.title} needs onnxscript: pip install 'styleforge[{extra}]'"
    assert runtime.refusal(Precision.fp32) == expected
