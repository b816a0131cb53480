"""The studio downloads only VGG-19's layers, and the whole file only with consent."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from app.training.request import TrainingRequest
from app.training.state import Phase
from models.training.download.vgg_part import PART_BYTES
from tests.app.training.conftest import PATIENCE, fields, filled, until
from tests.models.training.range_server import Served, serving

ROOT = Path(__file__).parents[3]
ELSEWHERE = """
from models.training import features
from models.training.download import vgg
vgg.ADDRESS = {address!r}
vgg.TORCHVISION_PREFIX = features.TORCHVISION_PREFIX = ""
"""


@pytest.fixture
def served(vgg_state, tmp_path, monkeypatch) -> Iterator[Served]:
    """Start a server that training processes use as torchvision's, with an empty cache."""
    file = io.BytesIO()
    state = {name: tensor.float() for name, tensor in vgg_state.items()}
    torch.save(state | {"classifier.0.weight": torch.zeros(1000, 1000)}, file)
    with serving(Served(file.getvalue())) as started:
        (tmp_path / "site").mkdir()
        code = ELSEWHERE.format(address=started.address)
        (tmp_path / "site" / "sitecustomize.py").write_text(code)
        places = (str(tmp_path / "site"), str(ROOT))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
        monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
        yield started


@pytest.fixture
def without_vgg(order) -> TrainingRequest:
    return TrainingRequest(**{**fields(order), "vgg": None})


@pytest.mark.full
def test_the_layers_alone_are_downloaded_and_it_is_said_what_was_checked(
    window, session, without_vgg, served, qtbot
):
    notes = []
    session.studio.note_received.connect(notes.append)
    filled(window, without_vgg, qtbot)
    assert window.form.vgg.toolTip() == "9 MB to download"
    window.foot.start.click()
    assert "checks the server's identity" in window.choice_card.question
    window.choice_card.buttons[0].click()
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE):
        pass
    assert PART_BYTES < served.sent < PART_BYTES + 100_000 < len(served.data)
    assert any("No checksum" in note for note in notes)


@pytest.mark.full
def test_the_whole_file_is_downloaded_only_when_that_is_agreed(
    window, session, without_vgg, served, qtbot, runs
):
    served.ranges = False
    filled(window, without_vgg, qtbot)
    window.foot.start.click()
    window.choice_card.buttons[0].click()
    qtbot.waitUntil(
        lambda: "cannot be downloaded alone" in window.choice_card.question, timeout=PATIENCE
    )
    assert "cannot send parts" in window.choice_card.question
    assert "575 MB" in window.choice_card.question
    assert until(qtbot, session.studio, Phase.IDLE).problem is None
    assert not list(runs.iterdir())
    assert all(served.requests)  # only ranges were requested
    whole = window.choice_card.buttons[0]
    assert whole.text() == "&Whole file, 575 MB"
    whole.click()
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE):
        pass
    assert served.requests[-1] == ""


@pytest.mark.full
def test_a_file_chosen_in_the_question_is_trained_with_at_once(
    window, session, without_vgg, order, served, qtbot
):
    filled(window, without_vgg, qtbot)
    window.foot.start.click()
    window.choice_card.buttons[2].click()
    window.form._picker._chosen["Choose VGG-19's weights"]([str(order.vgg)])
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE):
        pass
    assert served.requests == []
