"""Everything that paints in FP32 on a processor paints with the native network."""

from __future__ import annotations

import pytest
from PIL import Image

from app.cli import main
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.frame import Frame
from app.live.loop_events import Between
from app.live.previews.painter import SIZE, PreviewPainter
from app.styles.catalog import Catalog
from app.stylist import Stylist
from models.inference.winograd import WinogradExecutor
from tests.conftest import picture


@pytest.fixture
def painted(monkeypatch, native_kernels) -> list[tuple[int, ...]]:
    """Return a list that receives the shape of each batch that the native network paints."""
    shapes: list[tuple[int, ...]] = []
    for name in ("__call__", "paint_bytes"):
        run = getattr(WinogradExecutor, name)

        def counted(self, plan, x, mark, *, by_layer, run=run):
            shapes.append(tuple(x.shape))
            return run(self, plan, x, mark, by_layer=by_layer)

        monkeypatch.setattr(WinogradExecutor, name, counted)
    return shapes


def test_a_live_frame(painted):
    engine = Engine(Catalog.default())
    engine.configure(EngineConfig(style="candy", device="cpu", size=64))
    engine.process(Frame(picture(64, 48)))
    assert painted == [(1, 48, 64, 3)], "bytes in and out"


def test_a_preview_of_the_gallery(painted):
    painter = PreviewPainter(lambda: Engine(Catalog.default()), lambda: 0.0)
    painter.want(["candy", "mosaic"], 2)
    config = EngineConfig(style="udnie", device="cpu")
    still = Between(Frame(picture(320, 240)), config, moving=False, idle=True)
    previews = [painter.step(still), painter.step(still)]
    assert [preview and preview.style for preview in previews] == ["candy", "mosaic"]
    assert painted == [(1, SIZE[1], SIZE[0], 3)] * 2


def test_a_picture_of_the_command_line_and_one_of_python(painted, tmp_path):
    Image.fromarray(picture(40, 36)).save(tmp_path / "a.png")
    out = tmp_path / "out"
    given = ["stylize", str(tmp_path / "a.png"), "--out", str(out), "--device", "cpu"]
    assert main([*given, "--style", "candy", "--quiet"]) == 0
    assert (1, 36, 40, 3) in painted
    painted.clear()
    Stylist("candy", device="cpu")(picture(40, 36)[None])
    assert painted == [(1, 36, 40, 3)]
