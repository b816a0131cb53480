"""Errors below the window use the window's language."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from app.engine.result import RunInfo
from app.ui.speed.words import plain_words
from kernels.jit import build
from kernels.table import registry as table
from models.checkpoints import CheckpointError, load_checkpoint
from models.precision import Precision
from tests.helpers.errors import mentions
from utils.devices import NO_GPU
from utils.images.opening import ImageError
from utils.images.reading import GAIN_MAP_LOST, Picture, read_pixels
from utils.translation import files, texts

Speak = Callable[[dict[str, str]], None]


@pytest.fixture
def speak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Speak]:
    """Yield a function that selects German with the given texts."""

    def use(translations: dict[str, str]) -> None:
        folder = tmp_path / "languages" / "de"
        folder.mkdir(parents=True)
        (folder / "one.json").write_text(json.dumps(translations), "utf-8")
        monkeypatch.setattr(texts, "read", lambda key: files.read(key, folder.parent))
        texts.use("de")

    yield use
    monkeypatch.undo()
    texts.use("en")


def test_a_file_of_another_kind_is_named_in_the_language(speak, tmp_path):
    speak(
        {
            "'{file}' is not a picture but {kind}": "„{file}“ ist kein Bild, sondern {kind}",
            "a PDF document": "ein PDF-Dokument",
            "'{file}' is not a checkpoint: it is {kind}": "„{file}“ hat kein Netz: es ist {kind}",
        }
    )
    path = tmp_path / "a.png"
    path.write_bytes(b"%PDF-1.7")
    with pytest.raises(ImageError, match=r"^„a\.png“ ist kein Bild, sondern ein PDF-Dokument$"):
        read_pixels(path)
    with pytest.raises(CheckpointError, match=r"^„a\.png“ hat kein Netz: es ist ein PDF-Dokument$"):
        load_checkpoint(path)


def test_what_a_picture_lost_is_said_in_the_language(speak):
    picture = Picture(np.zeros((1, 1, 3), np.uint8), bits=16, losses=(GAIN_MAP_LOST,))
    speak({"its {bits} bits per channel became 8": "{bits} Bit wurden 8"})
    assert mentions(picture.loss, "16 Bit", "8", GAIN_MAP_LOST)


def test_reasons_that_are_compared_are_translated_where_they_are_shown(speak, monkeypatch):
    monkeypatch.setitem(build._reasons, "smoothing", build.NOT_TESTED)
    speak({NO_GPU: "keine Grafikkarte", build.NOT_TESTED: "hier noch nicht geprüft"})
    assert build.reason("smoothing") == build.NOT_TESTED
    assert table._status_of_whole("smoothing").reason == "hier noch nicht geprüft"
    running = RunInfo("Fused", Precision.fp32, "CPU", (NO_GPU, "slow"))
    assert str(running) == "Fused, FP32, CPU: keine Grafikkarte; slow"


def test_a_reason_of_the_driver_is_known_in_any_language(speak):
    speak({"Runs on the processor, since PyTorch cannot use the NVIDIA GPU": "Kein Treiber"})
    running = RunInfo("Fused", Precision.fp32, "CPU", ("der Treiber von NVIDIA ist zu alt",))
    assert plain_words(running, automatic=False).startswith("Kein Treiber")
