"""The offer appears only for an unused NVIDIA card, and contains the command that fixes it."""

from __future__ import annotations

import functools
import sysconfig
from pathlib import Path

import pytest
import torch
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import unused_gpu
from app.ui.controllers.gpu_offer import look_for_unused_gpu
from app.ui.widgets.toasts import NoticeToast
from tests.helpers.driver_stub import driver_stub
from tests.helpers.errors import mentions
from utils.nvidia_driver import find_driver


def at_once(work, done, *, failure):
    done(work())


@pytest.fixture
def notices(qtbot) -> NoticeToast:
    parent = QWidget()
    qtbot.addWidget(parent)
    bar = NoticeToast(parent)
    bar.keep_alive = parent  # type: ignore[attr-defined]
    return bar


def use_driver(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setattr(unused_gpu, "find_driver", functools.partial(find_driver, library))


def test_a_card_beside_a_cpu_build_is_offered_the_command(notices, monkeypatch, tmp_path):
    use_driver(monkeypatch, driver_stub(tmp_path, 13000, [(8, 6)]))
    monkeypatch.setattr(torch.version, "cuda", None)
    look_for_unused_gpu(at_once, notices)
    command = unused_gpu.mending_command()
    assert command.endswith(" gpu")
    assert mentions(notices.text, "NVIDIA", "CPU build")
    assert command in notices.text
    notices.offer_button.click()
    assert QGuiApplication.clipboard().text() == command
    assert notices.text == f"Copied: {command}"
    notices.dismiss()
    assert not notices.text


def test_without_a_card_and_with_a_cuda_build_nothing_is_offered(notices, monkeypatch, tmp_path):
    monkeypatch.setattr(torch.version, "cuda", None)
    use_driver(monkeypatch, "libno-such-driver.so")
    look_for_unused_gpu(at_once, notices)
    use_driver(monkeypatch, driver_stub(tmp_path, 13000, [(8, 6)]))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    look_for_unused_gpu(at_once, notices)
    assert not notices.text


def test_the_command_is_short_where_the_path_finds_this_program(monkeypatch, tmp_path):
    scripts = sysconfig.get_path("scripts")
    monkeypatch.setenv("PATH", scripts)
    assert unused_gpu.mending_command() == "styleforge gpu"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unused_gpu.mending_command() == f"{Path(scripts) / 'styleforge'} gpu"
    (tmp_path / "styleforge").write_text("another program")
    (tmp_path / "styleforge").chmod(0o755)
    assert unused_gpu.mending_command() == f"{Path(scripts) / 'styleforge'} gpu"
