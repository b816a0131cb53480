"""A new row in the table of parameters is enough: the program finds it everywhere.

The tests write rows into the table's source, as a developer who adds a control would, and run the
program itself in a child process.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.engine.config import EngineConfig, same_choice, same_network
from app.engine.engine import Engine, EngineError
from app.errors import StyleForgeError
from app.options import direction_of
from app.parameters import (
    AUTO,
    CHOICES,
    MATTED,
    PARAMETERS,
    FractionParameter,
    Parameters,
    Stage,
    given_values,
)
from utils.images.writing import write_pixels
from utils.stroke_directions import Handle

ROOT = Path(__file__).resolve().parents[2]

ROWS = """
    texture: float = _row(
        0.5,
        FractionParameter(
            label="Text&ure",
            tip="How much of the canvas is seen",
            group=Group.STROKES,
            stage=Stage.FINISHING,
            help="how much of the canvas is seen",
            metadata="Texture",
        ),
    )
    varnish: bool = _row(
        False,
        SwitchParameter(
            label="&Varnish",
            tip="Let the picture shine",
            group=Group.STYLE,
            stage=Stage.FINISHING,
            help="let the picture shine",
            metadata="Varnish",
            persisted=False,
        ),
    )
    canvas: str = _row(
        "linen",
        ChoiceParameter(
            label="Canvas (&y)",
            title="Canvas",
            tip="What is painted on",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            options={"linen": Option("Linen", "Coarse"), "silk": Option("Silk", "Fine")},
            help="what is painted on",
            metadata="Canvas",
        ),
    )
"""

WITH_ROWS = f"""
import sys, types
from pathlib import Path

path = Path("app/parameters.py")
before, after = path.read_text("utf-8").split("\\n\\nPARAMETERS", 1)
table = types.ModuleType("app.parameters")
sys.modules["app.parameters"] = table
source = before + {ROWS!r} + "\\n\\nPARAMETERS" + after
exec(compile(source, str(path), "exec"), table.__dict__)
"""

FIND = """
import contextlib, io, json, tempfile
from dataclasses import replace
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QSlider

from app.cli import main
from app.engine.config import EngineConfig, same_choice, same_network
from app.live.session import Session
from app.settings import Settings
from app.styles.catalog import BUILTIN, Catalog
from app.ui.controllers.settings_mapping import config_from_settings, settings_with_config
from app.ui.main_window import MainWindow
from tests.helpers.fakes import Negative
from utils.images.metadata import read_metadata

told = {}
folder = Path(sys.argv[1])
catalog = Catalog(BUILTIN, folder / "none")
config = EngineConfig(device="cpu")
told["config"] = [config.texture, config.varnish, config.canvas]
told["same network"] = [
    same_network(config, replace(config, **change))
    for change in ({"texture": 0.1}, {"varnish": True}, {"canvas": "silk"})
]
told["same choice"] = [
    same_choice(config, replace(config, **change))
    for change in ({"texture": 0.1}, {"varnish": True}, {"canvas": "silk"})
]

chosen = replace(config, texture=0.3, varnish=True, canvas="silk")
settings_with_config(Settings(), chosen).save(folder / "settings.json")
told["file"] = json.loads((folder / "settings.json").read_text("utf-8"))
loaded = config_from_settings(Settings.load(folder / "settings.json"), catalog)
told["reloaded"] = [loaded.texture, loaded.varnish, loaded.canvas]
(folder / "bad.json").write_text('{"texture": 7, "canvas": "wool"}')
told["complaints"] = []
bad = Settings.load(folder / "bad.json", told["complaints"].append)
told["mended"] = [bad.texture, bad.canvas]

def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(list(arguments))
    return out.getvalue()

told["window help"] = printed("--help")
told["stylize help"] = printed("stylize", "--help")
told["status"] = main(
    ["stylize", str(folder / "photo.png"), "-o", str(folder / "out.png"), "--kernels", "baseline",
     "--device", "cpu", "--texture", "0.25", "--varnish", "--canvas", "silk"]
)  # fmt: skip
told["metadata"] = read_metadata(folder / "out.png")

application = QApplication([])
session = Session(catalog, config, engine=Negative())
window = MainWindow(session, Settings(), lambda _: None)
window.show()
panel = window.panel
labels = {label.buddy(): label.text() for label in panel.findChildren(QLabel) if label.buddy()}
told["panel"] = {}
for kind in (QSlider, QCheckBox, QComboBox):
    for control in panel.findChildren(kind):
        title = labels.get(control) or control.text()
        told["panel"][control.accessibleName()] = [
            kind.__name__, title, control.toolTip(), control.isVisible()
        ]
texture, varnish, canvas = (panel.controls[name] for name in ("texture", "varnish", "canvas"))
told["shown"] = [texture.percent.text(), varnish.isChecked(), canvas.currentText()]
texture.setValue(70)
varnish.click()
canvas.setCurrentIndex(1)
canvas.activated.emit(1)
told["picked"] = [session.config.texture, session.config.varnish, session.config.canvas]
session.config = config
told["followed"] = [texture.percent.text(), varnish.isChecked(), canvas.currentText()]
window.close()
session.shutdown()
print(json.dumps(told))
"""


def run_with_rows(folder: Path, script: str, *arguments: str) -> str:
    """Run `script` in a program whose table has ROWS, with home `folder`; return its output."""
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    ran = subprocess.run(
        [sys.executable, "-c", WITH_ROWS + script, *arguments],
        cwd=ROOT,
        env=os.environ | homes,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("rows")
    noise = np.random.default_rng(0).integers(0, 256, (32, 40, 3))
    write_pixels(folder / "photo.png", noise.astype(np.uint8))
    return json.loads(run_with_rows(folder, FIND, str(folder)).splitlines()[-1])


def test_a_row_is_a_field_of_the_config_with_its_default(found):
    assert found["config"] == [0.5, False, "linen"]


def test_its_stage_says_what_a_change_costs(found):
    assert found["same network"] == [True, True, False]
    assert found["same choice"] == [True, False, False]


def test_it_is_saved_and_read_again_unless_it_shall_not_be(found):
    assert (found["file"]["texture"], found["file"]["canvas"]) == (0.3, "silk")
    assert "varnish" not in found["file"]
    assert found["reloaded"] == [0.3, False, "silk"]


def test_a_bad_value_in_the_settings_file_becomes_its_default_and_is_named(found):
    assert found["mended"] == [0.5, "linen"]
    (said,) = found["complaints"]
    assert "texture, canvas" in said


RESET = ". Double-click or Delete resets it"


def test_it_is_a_control_of_the_panel(found):
    assert found["panel"]["Texture"] == [
        "QSlider", "Text&ure", f"How much of the canvas is seen{RESET}", True
    ]  # fmt: skip
    assert found["panel"]["Varnish"] == [
        "QCheckBox",
        "&Varnish",
        f"Let the picture shine{RESET}",
        True,
    ]
    of_list = ". Delete, or a double click on its name, resets it"
    assert found["panel"]["Canvas"] == [
        "QComboBox", "Canvas (&y)", f"What is painted on{of_list}", True
    ]  # fmt: skip


def test_its_control_writes_the_config_and_follows_it(found):
    assert found["shown"] == ["50 %", False, "Linen"]
    assert found["picked"] == [0.7, True, "silk"]
    assert found["followed"] == found["shown"]


def test_it_is_a_flag_of_stylize_with_its_help(found):
    words = " ".join(found["stylize help"].split())
    assert "--texture 0-1 how much of the canvas is seen (default: 0.5)" in words
    assert "--varnish let the picture shine" in words
    assert (
        "--canvas {linen,silk} what is painted on (linen: coarse, silk: fine; default: linen)"
    ) in words


def test_it_is_a_flag_of_the_window_that_leaves_what_is_not_given(found):
    words = " ".join(found["window help"].split())
    assert "--texture 0-1 how much of the canvas is seen (default: the last value)" in words
    assert "--varnish, --no-varnish let the picture shine" in words
    assert "(linen: coarse, silk: fine; default: the last value)" in words


def test_a_row_may_be_a_flag_of_stylize_alone_or_none(found):
    assert PARAMETERS["strength"].window_flag is False
    assert "--strength" in found["stylize help"]
    assert "--strength" not in found["window help"]
    assert PARAMETERS["mix_amount"].help == ""
    assert "--mix-amount" not in found["stylize help"]


def test_a_saved_picture_says_what_it_was(found):
    assert found["status"] == 0
    about = found["metadata"]
    assert (about["Texture"], about["Varnish"], about["Canvas"]) == ("0.25", "yes", "Silk")
    assert "" not in about


@pytest.mark.full
def test_the_window_opens_with_what_its_flag_says_and_keeps_it(tmp_path):
    script = "from app.cli import main; sys.exit(main(sys.argv[1:]))"
    opened = ("--source", "scene", "--pictures", "1", "--texture", "0.75", "--canvas", "silk")
    run_with_rows(tmp_path, script, *opened)
    kept = json.loads((tmp_path / "config" / "styleforge" / "settings.json").read_text("utf-8"))
    assert (kept["texture"], kept["canvas"]) == (0.75, "silk")


# The unmodified table


def test_every_default_is_valid():
    defaults = Parameters()
    assert all(row.valid(getattr(defaults, name)) for name, row in PARAMETERS.items())


def test_a_fraction_is_a_number_of_0_to_1():
    strength = PARAMETERS["strength"]
    assert [strength.valid(v) for v in (0.0, 1.0, -0.1, 1.1, float("nan"))] == [
        True, True, False, False, False
    ]  # fmt: skip


def test_an_amount_is_a_number_of_0_to_1_or_automatic():
    texture = PARAMETERS["texture"]
    values = (AUTO, 0.0, 1.0, "Auto", 1.1, float("nan"), True, None)
    assert [texture.valid(v) for v in values] == [True] * 3 + [False] * 5
    assert [texture.text(v) for v in (AUTO, 0.4)] == ["auto", "0.40"]


def test_a_direction_is_a_name_or_an_angle_below_a_half_turn():
    brushwork = PARAMETERS["strokes_direction"]
    values = (AUTO, "hand", "follow", 0.0, 179.5, "one", "up", 180.0, -1.0, 30, True, None)
    assert [brushwork.valid(v) for v in values] == [True] * 5 + [False] * 7
    assert direction_of(30, ()) == 30.0
    assert [direction_of(v, ("hand",)) for v in (True, "follow", None, math.nan)] == [None] * 4


def test_handles_are_few_and_on_the_picture():
    row, handle = PARAMETERS["strokes_handles"], Handle(0.5, 1.0, 179.9)
    assert row.valid((handle,) * 12)
    wrong = (handle,) * 13, [handle], ((0.5, 0.5, 30.0),), (Handle(1.1, 0.5, 0.0),), "0.5,0.5,30"
    assert not any(row.valid(value) for value in wrong)
    assert row.restored(row.stored((handle, handle))) == (handle, handle)


def test_handles_comb_by_hand_unless_another_direction_is_given():
    handles = (Handle(0.5, 0.5, 30.0),)
    for given in ({}, {"strokes_direction": AUTO}, {"strokes_direction": "hand"}):
        values = given_values(Namespace(strokes_handles=handles, **given))
        assert values == {"strokes_direction": "hand", "strokes_handles": handles}
    assert given_values(Namespace(strokes_handles=())) == {"strokes_handles": ()}
    with pytest.raises(StyleForgeError, match="not swirl"):
        given_values(Namespace(strokes_handles=handles, strokes_direction="swirl"))


@pytest.mark.parametrize("name", CHOICES)
def test_the_engine_refuses_a_choice_that_is_not_in_its_table(catalog, name):
    with pytest.raises(EngineError, match=f"'none' .*{name}"):
        Engine(catalog).configure(replace(EngineConfig(device="cpu"), **{name: "none"}))


def test_only_what_comes_after_the_network_leaves_its_picture_as_it_is():
    after = {name for name, row in PARAMETERS.items() if row.stage is Stage.FINISHING}
    assert after == {"strength", "keep_colors", "upsampling", "smoothing", "fluid", *MATTED}
    assert same_network(EngineConfig(), EngineConfig(strength=0.2, upsampling="smooth"))
    assert not same_network(EngineConfig(), EngineConfig(mix_amount=0.2))
    assert not same_network(EngineConfig(), EngineConfig(size=128))


def test_only_sliders_leave_the_choice_as_it_is():
    sliders = [n for n, row in PARAMETERS.items() if isinstance(row, FractionParameter)]
    assert sliders == ["strength", "mix_amount", "smoothing", "feather"]
    assert same_choice(EngineConfig(), EngineConfig(mix_amount=0.2, strength=0.1))
    handles = (Handle(0.5, 0.5, 30.0),)
    assert same_choice(EngineConfig(), EngineConfig(strokes_handles=handles)), "they are dragged"
    assert not same_choice(EngineConfig(), EngineConfig(keep_colors=True))


def test_the_table_needs_neither_pytorch_nor_qt():
    check = (
        "import sys, app.parameters, app.settings, app.commands.style_flags;"
        "sys.exit(bool({'torch', 'PySide6'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False).returncode == 0
