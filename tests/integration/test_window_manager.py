"""The window's tests, repeated on X11 under a window manager.

A manager sets a window's place, frame and keyboard focus, each a moment after the request.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 is Linux's"),
    pytest.mark.timeout(600),  # many tests in one
]

ROOT = Path(__file__).parents[2]
WINDOW = "ui/window"  # the folder of names without one
PARTS = {
    "the first minute": ["wall", "badge", "startup_source", "second_start", "drop", "remembering"],
    "the gallery": [
        "card_previews",
        "style_trial",
        "mix",
        "arranging",
        "picture_styles",
        "files",
        "picker",
    ],
    "one bar from smooth to sharp": ["speed_bar", "panel", "drop_downs"],
    "looks and a way back": ["looks", "undo", "reset", "combing", "ui/widgets/mix_wheel"],
    "only you, or only here": ["person", "brush"],
    "zoom and pan": ["zoom_keys", "refining", "views", "ui/widgets/zoom", "ui/widgets/viewport"],
    "the camera": ["camera_mode", "virtual_camera"],
    "the device": ["gpu", "speed_test"],
    "the folder as a film strip": ["film_strip", "queue", "paint_all", "strip_tabs"],
    "made to be shown": [
        "before_after",
        "projector",
        "slideshow",
        "export",
        "saved_files",
        "full_quality",
    ],
    "films": [
        "film_export",
        "film_dialog",
        "interrupted_exports",
        "ui/player/bar",
        "ui/player/recording",
    ],
    "training in one click": ["training/window", "training/own_pictures"],
    "languages": ["languages", "right_to_left", "reopening"],
    "help": ["reports", "messages", "questions", "palette", "menus"],
    "accessibility": ["screen_readers", "targets", "keyboard_alone", "keys", "motion"],
    "every size": ["large_fonts", "small_screens"],
    "states of the window": ["window_states", "lifetime"],
    "closing": ["closing"],
}
MANAGED = {"states of the window"}  # a manager decides on them


def path_of(name: str) -> str:
    """Return the test file for a name in PARTS, relative to the root."""
    folder, _, module = name.rpartition("/")
    return f"tests/app/{folder or WINDOW}/test_{module}.py"


@pytest.mark.full
@pytest.mark.parametrize(
    "part", [pytest.param(p, marks=[] if p in MANAGED else pytest.mark.full) for p in PARTS]
)
def test_the_window_keeps_its_promises_under_a_window_manager(openbox, tmp_path, request, part):
    report = tmp_path / "report.xml"
    files = [path_of(name) for name in PARTS[part]]
    options = ["-n", "0", "-p", "no:cacheprovider", "--tb", "short", "--junit-xml", str(report)]
    options += ["-m", request.config.option.markexpr]  # the full suite is also full there
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env=openbox,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    passed = [case for case in cases if case.find("skipped") is None]
    modules = {case.attrib["classname"].replace(".", "/") + ".py" for case in passed}
    assert modules == set(files)


def test_every_test_of_the_window_is_run_under_a_window_manager():
    files = {path.stem.removeprefix("test_") for path in ROOT.glob("tests/app/ui/window/test_*.py")}
    named = {name for names in PARTS.values() for name in names}
    assert files == {name for name in named if "/" not in name}
