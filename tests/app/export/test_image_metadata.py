"""The metadata of a saved picture say how it was painted."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.export.image_metadata import image_metadata
from app.frame import Frame
from app.options import ONLY_PERSON, PAINTED, PAINTED_BY_MASK
from kernels.frames.combing import Comb
from models.precision import Precision

DEFAULT = EngineConfig()


def saved(
    running: RunInfo, comb: Comb | None = None, config: EngineConfig = DEFAULT
) -> dict[str, str]:
    frame = Frame(np.zeros((9, 16, 3), np.uint8))
    return image_metadata(
        StyledFrame(frame, frame, config, Timings(), (64, 36), running, comb=comb)
    )


@pytest.mark.parametrize("matte", ["", "people.onnx", "1.mask"], ids=str)
def test_they_name_the_part_that_was_painted(matte):
    config = EngineConfig(matte=matte, paint=ONLY_PERSON)
    found = saved(RunInfo("Fused", Precision.fp32, "CPU"), config=config)
    titles = PAINTED_BY_MASK if matte.endswith(".mask") else PAINTED
    assert found["Painted"] == titles[ONLY_PERSON].title


@pytest.mark.parametrize(
    ("network", "lite", "named"),
    [("Any-style", False, "Any-style"), ("", True, "Lite"), ("", False, "Full")],
)
def test_they_name_the_network_that_painted(network, lite, named):
    running = RunInfo("Fused", Precision.fp32, "CPU", style="Candy", lite=lite, network=network)
    assert saved(running)["Network"] == named


@pytest.mark.parametrize(
    ("comb", "brushwork", "length"),
    [(None, "none", "0.50"), (Comb("swirl", 1.0), "swirl", "1.00"), (Comb(30.0), "30", "0.50")],
    ids=["none", "swirl", "angle"],
)
def test_they_name_the_strokes_that_were_painted(comb, brushwork, length):
    found = saved(RunInfo("Fused", Precision.fp32, "CPU"), comb)
    assert (found["Brushwork"], found["Stroke length"]) == (brushwork, length)
