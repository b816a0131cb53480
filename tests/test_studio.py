"""The training studio: real processes on tiny pictures, from the order to the gallery."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QWidget,
)
from safetensors.torch import save_file

from app.commands import train
from app.commands.training_control import ShownOn
from app.session import Session
from app.settings import Settings
from app.studio import studio as studio_module
from app.studio.order import Order
from app.studio.process import ROOT, Ending, TrainingProcess
from app.studio.runs import Point, RunError, Runs, read
from app.studio.studio import Forecast, Phase, State, Studio
from app.studio.survey import survey
from app.styled import EngineConfig
from app.styles import Library
from app.ui.main_window import MainWindow
from app.ui.studio.ask_bar import Answer, AskBar
from app.ui.studio.curves import LossCurves
from app.ui.studio.window import StudioWindow
from app.ui.studio.words import about, left, question
from models.training.features import CHANNELS, LAYERS
from models.training.pack import THUMBNAIL
from models.training.presets import PRESETS, STROKES, Preset, Stroke, cheaper
from tests.conftest import picture
from tests.test_window import Negative
from utils.image_utils import load_image, save_image

TINY = Preset("tiny", "Tiny", "For tests", iterations=4, image_size=32, batch_size=2)
LONG = Preset("long", "Long", "For tests", iterations=100_000, image_size=32, batch_size=2)
SMALL = Stroke("small", "Small", "For tests", style_size=64)
PATIENCE = 60_000  # ms; a process has to import PyTorch first


@pytest.fixture(scope="module")
def vgg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of VGG-19's shapes."""
    generator = torch.Generator().manual_seed(1)
    state = {}
    for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
        weight = torch.randn(cout, cin, 3, 3, generator=generator) * (2 / (9 * cin)) ** 0.5
        state[f"features.{index}.weight"] = weight
        state[f"features.{index}.bias"] = torch.zeros(cout)
    path = tmp_path_factory.mktemp("vgg") / "vgg.safetensors"
    save_file(state, path, {"input": "BGR, 0-255, minus a mean"})
    return path


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for n in range(5):
        save_image(folder / f"{n}.png", picture(60 + n, 50, seed=n))
    return folder


@pytest.fixture
def painting(tmp_path: Path) -> Path:
    save_image(tmp_path / "red_stripes.png", picture(64, 48, seed=9))
    return tmp_path / "red_stripes.png"


@pytest.fixture
def order(painting: Path, photographs: Path, vgg: Path) -> Order:
    return Order("Red stripes", painting, photographs, TINY, SMALL, vgg=vgg, device="cpu")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the training processes: the pictures are too small for more."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked about a long run, but where a test is about that."""
    monkeypatch.setattr(studio_module, "LONG_S", 1e9)


@pytest.fixture
def own_library(tmp_path: Path) -> Library:
    return Library(tmp_path / "builtin", tmp_path / "mine" / "styles")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where the runs of `own_library` are kept."""
    return tmp_path / "mine" / "training"


@pytest.fixture
def studio(qtbot, own_library: Library) -> Iterator[Studio]:
    made = Studio(own_library)
    yield made
    made.close()


@pytest.fixture
def session(qtbot, own_library: Library) -> Iterator[Session]:
    made = Session(own_library, EngineConfig(device="cpu"), engine=Negative())  # type: ignore[arg-type]
    yield made
    made.shutdown()


@pytest.fixture
def window(session: Session, qtbot) -> StudioWindow:
    made = StudioWindow(session, lambda: picture(80, 60), lambda **_: None)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def until(qtbot, studio: Studio, *phases: Phase) -> State:
    qtbot.waitUntil(lambda: studio.state.phase in phases, timeout=PATIENCE)
    return studio.state


def learning(qtbot, studio: Studio, steps: int = 2) -> None:
    """Wait until the run has taken some steps."""
    qtbot.waitUntil(
        lambda: studio.state.phase is Phase.TRAINING and len(studio.history) >= steps,
        timeout=PATIENCE,
    )


def filled(window: StudioWindow, order: Order, qtbot) -> StudioWindow:
    """The window with the order typed in."""
    window.form.preset.offer(())
    window.form.preset.addItem(order.preset.title, order.preset)
    window.form.stroke.addItem(order.stroke.title, order.stroke)
    window.form.stroke.setCurrentIndex(window.form.stroke.count() - 1)
    window.form.take_picture(order.picture)
    window.form.take_folder(order.photographs)
    window.form.show_vgg(order.vgg)
    qtbot.waitUntil(window.start.isEnabled)
    return window


# From the order to the gallery


def test_a_picture_becomes_a_style_of_the_gallery(window, session, order, qtbot, runs):
    filled(window, order, qtbot)
    previews, notices = [], []
    session.studio.previewed.connect(previews.append)
    session.notice.connect(notices.append)
    window.form.title.clear()
    QTest.keyClicks(window.form.title, "Stripes")
    QTest.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE) as told:
        pass
    (style,) = told.args
    assert (style.key, style.title) == ("stripes", "Stripes")
    assert session.library.get("stripes") == style
    assert session.config.style == "stripes"
    assert notices == [f"'Stripes' is trained; it is in {session.library.user / 'stripes'}"]
    assert style.thumbnail is not None
    assert load_image(style.thumbnail).shape == (THUMBNAIL, THUMBNAIL, 3)
    assert [point.iteration for point in session.studio.history] == [1, 2, 3, 4]
    assert previews
    assert not list(runs.iterdir())
    assert session.studio.state == State()
    recipe = tomllib.loads((session.library.user / "stripes" / "style.toml").read_text("utf-8"))
    assert recipe["training"]["iterations"] == 4
    assert "--style-image red_stripes.png" in recipe["training"]["command"]
    assert str(order.photographs) not in recipe["training"]["command"]


def test_two_styles_of_one_title_live_side_by_side(own_library, tmp_path):
    for key in ("red_stripes", "red_stripes_2"):
        pack = tmp_path / "out" / "style"
        pack.mkdir(parents=True)
        (pack / "weights.safetensors").touch()
        (pack / "style.toml").write_text(
            'title = "Red stripes"\nweights = "weights.safetensors"\n[training]\nseed = 7\n'
        )
        adopted = own_library.adopt(pack)
        assert adopted.key == key
        assert not pack.exists()
        assert "seed = 7" in (adopted.weights.parent / "style.toml").read_text("utf-8")
    assert len(own_library.styles) == 2


def test_a_paused_run_is_found_at_the_next_start_and_goes_on(
    studio, order, own_library, qtbot, runs
):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    state = until(qtbot, studio, Phase.PAUSED)
    assert state.run is not None
    done = studio.history[-1].iteration
    assert state.run.checkpoint.is_file()
    assert state.run.iteration == done
    assert not studio._process.running
    studio.close()

    later = Studio(own_library)
    with qtbot.waitSignal(later.unfinished_changed) as found:
        later.look_for_unfinished()
    ((run,),) = found.args
    assert (run.title, run.iteration) == ("Red stripes", done)
    later.take_up(run)
    later.resume()
    learning(qtbot, later, steps=done + 2)
    assert [p.iteration for p in later.history] == list(range(1, len(later.history) + 1))
    later.cancel()
    until(qtbot, later, Phase.IDLE)
    assert not list(runs.iterdir())
    later.close()


def fields(order: Order) -> dict:
    return {name: getattr(order, name) for name in Order.__dataclass_fields__}


def test_cancelling_leaves_nothing(studio, order, own_library, qtbot, runs):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    assert len(list(runs.iterdir())) == 1
    studio.cancel()
    state = until(qtbot, studio, Phase.IDLE)
    assert state.problem is None
    assert not list(runs.iterdir())
    assert not own_library.styles


def test_cancelling_while_measuring_leaves_nothing(studio, order, qtbot, runs):
    studio.begin(order, None)
    until(qtbot, studio, Phase.MEASURING)
    studio.cancel()
    assert until(qtbot, studio, Phase.IDLE).problem is None
    assert not list(runs.iterdir())


def test_previews_follow_the_current_frame(studio, order, qtbot):
    shapes = []
    studio.previewed.connect(lambda path: shapes.append(QImage(str(path)).size().toTuple()))
    studio.begin(Order(**{**fields(order), "preset": LONG}), picture(80, 60))
    qtbot.waitUntil(lambda: bool(shapes), timeout=PATIENCE)
    assert shapes[0] == (80, 60)
    studio.show_on(picture(40, 64))
    qtbot.waitUntil(lambda: shapes[-1] == (40, 64), timeout=PATIENCE)
    studio.cancel()
    until(qtbot, studio, Phase.IDLE)


# How long it takes


def test_a_long_run_is_asked_about_and_can_be_declined(
    window, session, order, qtbot, monkeypatch, runs
):
    monkeypatch.setattr(studio_module, "LONG_S", 0.0)
    filled(window, order, qtbot)
    window.start.click()
    state = until(qtbot, session.studio, Phase.ASKING)
    assert state.forecast is not None
    assert not state.forecast.on_gpu
    assert window.asking.question == question(state.forecast)
    no = window.asking.buttons[-1]
    assert no.text() == "Do &not train"
    no.click()
    until(qtbot, session.studio, Phase.IDLE)
    assert not window.asking.isVisible()
    assert not list(runs.iterdir())


def test_a_long_run_can_be_started_anyway_or_made_shorter(
    studio, order, qtbot, monkeypatch, own_library
):
    monkeypatch.setattr(studio_module, "LONG_S", 0.0)
    monkeypatch.setattr(studio_module, "cheaper", lambda than: TINY if than is LONG else None)
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    until(qtbot, studio, Phase.ASKING)
    with qtbot.waitSignal(studio.changed, timeout=PATIENCE):
        studio.begin_cheaper(None)
    state = until(qtbot, studio, Phase.ASKING, Phase.TRAINING)
    if state.phase is Phase.ASKING:  # it takes longer than was foreseen
        studio.accept()
    with qtbot.waitSignal(studio.finished, timeout=PATIENCE):
        pass
    assert studio.history[-1].iteration == TINY.iterations


def test_times_are_told_in_words():
    assert about(3) == "a few seconds"
    assert about(100) == "2 minutes"
    assert about(31 * 3600 + 100) == "31 hours"
    assert about(80 * 3600) == "3 days"
    assert left(200) == "3:20 left"
    assert left(3725) == "1:02:05 left"
    assert left(90_000) == "1 d 1 h left"
    on_cpu = Forecast(31 * 3600.0, 11.0, "CPU", on_gpu=False)
    assert question(on_cpu) == (
        "About 31 hours on this processor; a GPU takes minutes. Start anyway?"
    )
    assert "on Big GPU." in question(Forecast(7200.0, 1.0, "Big GPU", on_gpu=True))


def test_every_preset_and_stroke_is_a_command_line_of_train(order):
    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    for preset in PRESETS:
        for stroke in STROKES:
            made = Order("T", order.picture, order.photographs, preset, stroke)
            line = ["train", "--style-image", "p.png", "-o", "out", *made.flags()]
            args = parser.parse_args(line)
            device = torch.device("cpu")
            config = train._config(args, device, train._shape(args, None))
            assert config.iterations == preset.iterations
            assert config.style_size == stroke.style_size
            assert config.stability_weight == preset.stability_weight
    costs = [preset.work for preset in PRESETS]
    assert costs == sorted(costs)
    assert cheaper(PRESETS[-1]) is PRESETS[0]
    assert cheaper(PRESETS[0]) is None


# What goes wrong


def told(qtbot, studio: Studio, order: Order) -> str:
    """The sentence an order ends with."""
    studio.begin(order, None)
    problem = until(qtbot, studio, Phase.IDLE).problem
    assert problem is not None
    return problem.summary


def test_a_bad_style_picture_is_told_at_once_and_again_if_it_is_ordered(
    window, session, order, qtbot, tmp_path, runs
):
    page = tmp_path / "page.png"
    page.write_text("<!doctype html><title>404</title>")
    window.form.take_picture(page)
    qtbot.waitUntil(window.form.picture_remark.isVisible)
    assert "'page.png'" in window.form.picture_remark.text()
    assert window.doing.text() == "Choose a style picture"
    assert not window.start.isEnabled()
    bad = Order(**{**fields(order), "picture": page})
    assert "Could not train 'Red stripes': 'page.png'" in told(qtbot, session.studio, bad)
    assert window.problems.isVisible()
    assert not runs.exists()


def test_an_empty_folder_is_told_in_a_sentence(window, session, order, qtbot, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    window.form.take_picture(order.picture)
    window.form.take_folder(empty)
    qtbot.waitUntil(lambda: "no photographs" in window.form.folder_remark.text())
    assert not window.start.isEnabled()
    bad = Order(**{**fields(order), "photographs": empty})
    assert told(qtbot, session.studio, bad).endswith("holds no photographs")
    assert window.isVisible()


def test_a_missing_vgg_file_is_told_in_a_sentence(studio, order, qtbot, tmp_path):
    bad = Order(**{**fields(order), "vgg": tmp_path / "gone.pth"})
    sentence = told(qtbot, studio, bad)
    assert sentence == (
        f"Could not train 'Red stripes': the VGG-19 file '{tmp_path / 'gone.pth'}' does not exist"
    )


def test_a_process_that_is_killed_is_told_and_the_studio_is_ready_again(studio, order, qtbot, runs):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    process = studio._process._process
    assert process is not None
    psutil.Process(process.processId()).kill()
    state = until(qtbot, studio, Phase.IDLE, Phase.PAUSED)
    assert state.problem is not None
    assert "memory" in state.problem.summary
    if state.phase is Phase.PAUSED:  # it had just written a checkpoint
        studio.cancel()
        until(qtbot, studio, Phase.IDLE)
    assert not list(runs.iterdir())
    assert not studio._process.running


def test_what_a_process_ends_with_becomes_one_sentence():
    def judged(code: int, *errors: str, crashed: bool = False) -> Ending:
        process = TrainingProcess()
        process._errors = list(errors)
        return process._judge(code, crashed=crashed)

    assert judged(0) == Ending("done")
    assert judged(130) == Ending("stopped")
    ending = judged(1, "a warning", "styleforge: the disk is full")
    assert (ending.how, ending.sentence) == ("failed", "the disk is full")
    assert ending.details == "a warning\nstyleforge: the disk is full"
    assert "ValueError: odd" in judged(1, "Traceback", "ValueError: odd").sentence
    assert "memory" in judged(9, crashed=True).sentence
    assert "signal 11" in judged(11, crashed=True).sentence


def test_want_of_memory_is_one_sentence(monkeypatch, order, tmp_path):
    def full(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")

    monkeypatch.setattr(train, "load_photographs", full)
    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    flags = ["--style-image", str(order.picture), "-o", str(tmp_path / "out"), *order.flags()]
    with pytest.raises(train.StyleForgeError, match="memory does not suffice for 2 photographs"):
        train.run(parser.parse_args(["train", *flags]))


def test_weights_are_downloaded_only_with_consent(window, session, order, qtbot, monkeypatch):
    monkeypatch.setenv("STYLEFORGE_CACHE", str(order.photographs.parent / "cache"))
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    filled(window, Order(**{**fields(order), "vgg": None}), qtbot)
    window.start.click()
    assert "548 MB" in window.asking.question
    assert session.studio.state.phase is Phase.IDLE
    window.asking.buttons[0].click()
    problem = until(qtbot, session.studio, Phase.IDLE).problem
    while problem is None:
        qtbot.wait(50)
        problem = session.studio.state.problem
    assert "VGG-19 could not be downloaded" in problem.summary


def test_the_command_ends_when_the_program_that_started_it_does(order, tmp_path):
    long = Order(**{**fields(order), "preset": LONG})
    line = [
        *(sys.executable, "-m", "app", "train", "--style-image", str(order.picture)),
        *("-o", str(tmp_path / "out"), "--name", "s", "--json-progress", "--listen"),
        *long.flags(),
    ]
    process = subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    while b'"progress"' not in process.stdout.readline():
        assert process.poll() is None
    process.communicate(timeout=60)  # closes its stdin
    assert process.returncode == 130
    assert (tmp_path / "out" / "s.training.pt").is_file()


# Runs on disk


def test_a_run_that_is_no_run_is_left_alone(tmp_path, order):
    (tmp_path / "runs" / "other").mkdir(parents=True)
    (tmp_path / "runs" / "other" / "run.json").write_text('{"format": 1, "title": 3}')
    runs = Runs(tmp_path / "runs")
    assert runs.all() == ()
    run = runs.begin(order, picture(), picture())
    assert runs.all() == (run,)
    assert read(run.path).arguments() == run.arguments()
    assert not runs.is_stale(run)
    with pytest.raises(RunError, match="is not a training run"):
        runs.throw_away(read_elsewhere(run, tmp_path))
    runs.throw_away(run)
    assert runs.all() == ()


def read_elsewhere(run, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_bytes((run.path / "run.json").read_bytes())
    return read(elsewhere)


def test_a_run_another_window_works_on_is_not_offered(studio, order, own_library, qtbot):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    run = until(qtbot, studio, Phase.PAUSED).run
    other = Studio(own_library)
    with qtbot.waitSignal(other.unfinished_changed) as found:
        other.look_for_unfinished()
    assert found.args == [()]
    assert run is not None
    other.take_up(run)
    assert other.state.problem is not None
    assert "another window" in other.state.problem.summary
    other.close()


# The window


def controls(window: QWidget) -> list[QWidget]:
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QLineEdit)
    found = [w for kind in kinds for w in window.findChildren(kind)]
    return [w for w in found if w.focusPolicy() != Qt.FocusPolicy.NoFocus]


def test_every_control_has_an_accessible_name_and_a_tooltip(window):
    window.asking.ask("x", "Why?", Answer("&Yes", "Answer yes", lambda: None))
    found = controls(window)
    assert len(found) > 12
    assert [w for w in found if not w.accessibleName() or not w.toolTip()] == []
    assert all(w.accessibleName() for w in (window.preview, window.curves, window.bar))


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.TRAINING, Phase.PAUSED, Phase.MEASURING])
def test_no_two_mnemonics_on_screen_are_the_same(window, phase):
    window.form.more.setChecked(True)
    window.form.show_vgg(Path("some.pth"))
    window._follow(State(phase))
    seen = [w for kind in (QLabel, QAbstractButton) for w in window.findChildren(kind)]
    texts = [w.text() for w in seen if w.isVisible() and w.isEnabled()]
    letters = [t[t.index("&") + 1].lower() for t in texts if "&" in t]
    assert len(letters) == len(set(letters))


def test_tab_reaches_every_control_of_the_form(window, order, qtbot):
    filled(window, order, qtbot)
    window.form.more.setChecked(True)
    wanted = {w for w in controls(window) if w.isVisible() and w.isEnabled()}
    window.form.picture.setFocus()
    reached = set()
    for _ in range(2 * len(wanted)):
        reached.add(QApplication.focusWidget())
        QTest.keyClick(window, Qt.Key.Key_Tab)
    assert wanted <= reached


def test_an_unfinished_run_shows_its_own_order_and_a_damaged_one_says_so(
    window, session, order, qtbot, runs
):
    run = Runs(runs).begin(order, picture(), picture())
    run.checkpoint.parent.mkdir()
    run.checkpoint.write_bytes(b"damaged")
    window.form.title.setText("Mine")
    window._go_on_with(run)
    assert window.form.title.text() == "Red stripes"
    state = until(qtbot, session.studio, Phase.PAUSED)
    assert state.problem is not None
    assert "style.training.pt' is not a training checkpoint" in state.problem.summary
    assert window.problems.isVisible()
    window.discard.click()  # nothing is known to be lost, so nothing is asked
    until(qtbot, session.studio, Phase.IDLE)
    assert window.form.title.text() == "Mine"
    assert not list(runs.iterdir())


def test_what_was_learned_is_thrown_away_only_after_asking(window, session, order, qtbot, runs):
    session.studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, session.studio)
    window.cancel.click()
    keep, _ = window.asking.buttons
    assert "Throw away what 'Red stripes' has learned in" in window.asking.question
    assert keep.hasFocus()
    keep.click()
    assert session.studio.state.phase is Phase.TRAINING
    window.cancel.click()
    _, throw_away = window.asking.buttons
    throw_away.click()
    until(qtbot, session.studio, Phase.IDLE)
    assert not list(runs.iterdir())


def test_photographs_are_counted_and_faults_and_fewness_told(photographs, tmp_path):
    (photographs / "bad.jpg").write_bytes(b"\xff\xd8\xff nothing more")
    found = survey(photographs)
    assert found.usable
    assert found.words.startswith(
        "6 photographs; 1 cannot be used and will be left out. That is few"
    )
    for n in range(120):
        save_image(photographs / f"more{n}.png", picture(24, 24, seed=n))
    assert survey(photographs).words == "126 photographs; 1 cannot be used and will be left out"
    assert survey(tmp_path / "absent").words.endswith("does not exist")
    assert not survey(photographs, wanted=lambda: False).usable


def test_the_curves_say_in_words_what_they_show(qtbot):
    curves = LossCurves()
    qtbot.addWidget(curves)
    curves.resize(420, 190)
    assert curves.accessibleDescription() == "No losses yet"
    blank = curves.grab().toImage()
    points = [Point(n, 1.0 / n, 0.5 / n, 2.0 / n) for n in range(1, 60)]
    curves.follow(points, 100)
    assert curves.accessibleDescription().startswith("Total loss 0.0")
    assert "falling from 2;" in curves.accessibleDescription()
    assert curves.accessibleDescription().endswith("step 59 of 100")
    drawn = curves.grab().toImage()
    assert drawn != blank
    points.append(Point(60, 0.0, 0.0, 0.0))  # no logarithm
    curves.follow(points, 100)
    assert curves.grab().toImage() != drawn


def test_a_question_is_answered_once(qtbot):
    bar = AskBar()
    qtbot.addWidget(bar)
    given = []
    bar.ask("a", "Shall we?", Answer("&Yes", "Yes", lambda: given.append(1)))
    bar.withdraw("b")
    assert bar.question == "Shall we?"
    bar.buttons[0].click()
    assert given == [1]
    assert (bar.question, bar.buttons) == ("", ())


def test_a_picture_that_changes_is_read_again(tmp_path):
    path = tmp_path / "frame.png"
    save_image(path, picture(40, 30))
    shown = ShownOn(path, np.zeros((8, 8, 3), np.uint8), 512)
    assert shown().shape == (30, 40, 3)
    save_image(path, picture(64, 48))
    assert shown().shape == (48, 64, 3)
    path.unlink()
    assert shown().shape == (48, 64, 3)
    assert ShownOn(None, picture(64, 48), 32)().shape == (24, 32, 3)


# The main window


@pytest.fixture
def main_window(session, qtbot) -> Iterator[MainWindow]:
    made = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    made.activateWindow()
    yield made
    made.theme.choice = "system"


def test_ctrl_t_opens_the_studio_beside_the_picture(main_window):
    main_window.viewport.setFocus()
    QTest.keyClick(main_window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    opened = main_window._studio
    assert opened is not None
    assert opened.isVisible()
    assert not opened.isModal()


def test_quitting_while_training_asks_and_keeps_what_was_learned(
    main_window, session, order, qtbot, runs
):
    session.studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, session.studio)
    assert not main_window.close()
    assert main_window.isVisible()
    assert main_window.questions.isVisible()
    main_window.questions.dismiss()
    assert not main_window.close()
    main_window.questions.accept.click()
    qtbot.waitUntil(lambda: not main_window.isVisible(), timeout=PATIENCE)
    (run,) = Runs(runs).all()
    assert run.worth_keeping


def test_an_unfinished_run_is_told_of_at_the_start(order, session, qtbot, runs):
    run = Runs(runs).begin(order, picture(), picture())
    run.checkpoint.parent.mkdir()
    run.checkpoint.touch()
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: "'Red stripes' is not finished" in window.notices.text)
    window._act("train")
    assert window._studio is not None
    asking = window._studio.asking
    qtbot.waitUntil(lambda: asking.topic == "unfinished")
    asking.buttons[1].click()
    qtbot.waitUntil(lambda: not run.path.exists())
    window.close()
    window.theme.choice = "system"
