"""A result of a speed test, for tests of its text, its card and its rows."""

from __future__ import annotations

from app.engine.result import LatencyStats
from app.speed_test.layers import LayerRow, LayerTable
from app.speed_test.machine import Machine
from app.speed_test.result import Row, SpeedResult
from models.precision import Precision

PLAIN = "Plain PyTorch, CPU"


def time(ms: float) -> LatencyStats:
    return LatencyStats(ms, 1.2 * ms)


MACHINE = Machine("Some Processor", ("Some GPU",), "Some System 12", ("StyleForge 1", "PyTorch 2"))
RESULT = SpeedResult(
    (
        Row("StyleForge, CUDA", True, reason="no CUDA device"),
        Row("StyleForge, CPU", True, time(50.0), ratio=8.0, beside=PLAIN),
        Row(PLAIN, latency=time(400.0)),
        Row("OpenVINO CPU", latency=time(500.0), ratio=0.8, beside=PLAIN),
        Row("ONNX Runtime CPU", latency=time(450.0), beside=PLAIN, differs=True),
    ),
    (1280, 720),
    Precision.fp32,
    "Candy",
    False,
    MACHINE,
    (
        LayerTable(
            "CPU", (LayerRow("encoder/conv1", 60.0, 7.5), LayerRow("decoder/deconv1", 90.0, 9.0))
        ),
    ),
)
