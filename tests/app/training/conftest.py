"""Fixtures for the studio: an order for real processes on tiny pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.config import EngineConfig
from app.live.session import Session
from app.settings import Settings
from app.styles.catalog import Catalog
from app.training import controller as studio_module
from app.training.controller import TrainingController
from app.training.request import TrainingRequest
from app.training.state import Phase, State
from app.ui.file_dialogs import FileDialogs
from app.ui.training.window import TrainingWindow
from models.training.presets import Preset, Stroke
from tests.conftest import picture
from tests.helpers.fakes import Negative
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

TINY = Preset("tiny", "Tiny", "For tests", iterations=4, image_size=32, batch_size=2)
LONG = Preset("long", "Long", "For tests", iterations=100_000, image_size=32, batch_size=2)
SMALL = Stroke("small", "Small", "For tests", style_size=64)
PATIENCE = 110_000  # ms; a process has to import PyTorch first, on a machine that tests too


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for n in range(5):
        write_pixels(folder / f"{n}.png", picture(60 + n, 50, seed=n))
    return folder


@pytest.fixture
def painting(tmp_path: Path) -> Path:
    write_pixels(tmp_path / "red_stripes.png", picture(64, 48, seed=9))
    return tmp_path / "red_stripes.png"


@pytest.fixture
def order(painting: Path, photographs: Path, vgg_file: Path) -> TrainingRequest:
    return TrainingRequest(
        "Red stripes", painting, photographs, TINY, SMALL, vgg=vgg_file, device="cpu"
    )


def fields(order: TrainingRequest) -> dict:
    return {name: getattr(order, name) for name in TrainingRequest.__dataclass_fields__}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run training processes with one thread, since the pictures are too small for more."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never ask for confirmation of a long run; tests of the question lower the limit."""
    monkeypatch.setattr(studio_module, "CONFIRM_ABOVE_S", 1e9)


@pytest.fixture
def own_catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "builtin", tmp_path / "mine" / "styles")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "mine" / "training"


@pytest.fixture
def studio(qtbot, own_catalog: Catalog) -> Iterator[TrainingController]:
    made = TrainingController(own_catalog)
    yield made
    made.close()


@pytest.fixture
def session(qtbot, own_catalog: Catalog) -> Iterator[Session]:
    made = Session(own_catalog, EngineConfig(device="cpu"), engine=Negative())  # type: ignore[arg-type]
    yield made
    end(made)


@pytest.fixture
def window(session: Session, qtbot) -> TrainingWindow:
    picker = FileDialogs(Settings, lambda **_: None, session.run)
    made = TrainingWindow(session, lambda: picture(80, 60), lambda **_: None, picker)
    qtbot.addWidget(made)
    show_window(made, qtbot)
    return made


def until(qtbot, studio: TrainingController, *phases: Phase) -> State:
    qtbot.waitUntil(lambda: studio.state.phase in phases, timeout=PATIENCE)
    return studio.state


def learning(qtbot, studio: TrainingController, steps: int = 2) -> None:
    qtbot.waitUntil(
        lambda: studio.state.phase is Phase.TRAINING and len(studio.history) >= steps,
        timeout=PATIENCE,
    )


def filled(window: TrainingWindow, order: TrainingRequest, qtbot) -> TrainingWindow:
    window.form.preset.set_options(())
    window.form.preset.addItem(order.preset.title, order.preset)
    window.form.stroke.addItem(order.stroke.title, order.stroke)
    window.form.stroke.setCurrentIndex(window.form.stroke.count() - 1)
    window.form.set_picture(order.picture)
    window.form.set_folder(order.photographs)
    window.form.show_vgg(order.vgg)
    qtbot.waitUntil(window.foot.start.isEnabled)
    return window
