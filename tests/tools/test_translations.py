"""Every visible text can be translated, and every translation suits its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.ui.actions import GROUPS
from app.virtual_camera.installing import DRIVERS, EXTRA_COMMAND
from tools import translations
from tools.bare_texts import bare_errors, bare_texts
from utils.translation.files import FOLDER, available, share
from utils.translation.languages import LANGUAGES, SOURCE

UI = Path(__file__).parents[2] / "app" / "ui"
APART = (
    # Tables whose texts are translated where they are shown, and style sheets.
    *(f"actions/{group.lower()}.py" for group in GROUPS),
    *("queue/actions.py", "theme/theme.py", "theme/motion.py"),
)
# Below the window: names of values, and raised messages, by module.
NOT_SHOWN = {
    "engine/result.py": ("Baseline",),
    "engine/style_weights.py": (" is , and  is ",),
    # The overlay of the viewport puts these into words.
    "live/flicker.py": (
        *(" times the original's motion", "none, nothing changes"),
        " of 255, the source is still",
    ),
    "live/stream_metrics.py": (
        *("copies for the display", "program around the engine", "limited by the "),
        *("limited by the display:  fps", "limited by the :  fps"),
    ),
    "live/style_jobs.py": (
        *("Reading the network", "Reading the picture", "Finding its style", "Saving the style"),
    ),
    "looks/look.py": ("Look",),
    # Names of threads and of kinds, keys, and terminal output.
    "sound/output.py": ("silent output",),
    "sound/soundtrack.py": ("sound of a film",),
    "sources/__init__.py": (
        *("camera:0, camera:0@1280x720@30 or camera:its name", "a folder"),
        *("http://camera.local/video.mjpg or rtsp://camera.local/stream",),
        "a picture or video file",
    ),
    "sources/camera.py": ("Camera ",),
    "sources/grabber.py": ("grabber ",),
    "sources/address.py": ("network camera",),
    "sources/video.py": ("video ",),
    # Current steps, which app/live/style_jobs.py translates, and a placeholder title.
    "styles/installable.py": ("Reading the picture", "Finding its style", "Style"),
    "styles/catalog.py": ("Reading the network", "Saving the style"),
    "virtual_camera/device.py": (
        "sudo modprobe v4l2loopback exclusive_caps=1 card_label=StyleForge",
    ),
    "virtual_camera/installing.py": (EXTRA_COMMAND, *DRIVERS.values()),
    "virtual_camera/sender.py": ("virtual camera",),
}
# The errors whose messages the window shows.
SHOWN_ERRORS = frozenset(
    (
        *("StyleForgeError", "EngineError", "StyleError", "FeedLost", "SoundError", "LookError"),
        *("ColorError", "VirtualCameraError", "ReportError", "FilmError", "FilmCancelled"),
        *("RecordingError", "WipeError", "RunError", "DamagedRunError", "ExportError"),
        *("TrainingError", "LayoutError", "NoRangesError", "WholeFileNeededError"),
        *("CheckpointError", "UnsafeFileError", "ImageError", "RuntimeFault", "StateError"),
    )
)
# Packages that raise them with translated texts, each with other errors quoted in them.
TRANSLATED_ERRORS: dict[str, tuple[str, ...]] = {
    "app/diagnostics": (),
    "app/engine": (),
    "app/export": (),
    "app/film_frames": (),
    "app/live": (),
    "app/looks": (),
    "app/sound": (),
    "app/sources": (),
    "app/styles": ("KeyError", "TypeError", "FileExistsError"),
    "app/training": (),
    "app/virtual_camera": ("ValueError",),
    "models": (),
    "utils/files": (),
    "utils/images": (),
}


def converted() -> list[str]:
    paths = (path.relative_to(UI) for path in sorted(UI.rglob("*.py")))
    return [path.as_posix() for path in paths if path.as_posix() not in APART]


@pytest.mark.parametrize("module", converted())
def test_no_text_is_shown_without_being_translated(module):
    assert not bare_texts((UI / module).read_text("utf-8"))


def test_no_module_of_the_window_is_left_out():
    modules = {path.relative_to(UI).as_posix() for path in UI.rglob("*.py")}
    assert modules == {*converted(), *APART}


@pytest.mark.parametrize(
    "module",
    [
        *("engine", "film_frames", "live", "looks", "sound", "sources", "styles"),
        "virtual_camera",
    ],
)
def test_no_text_of_a_package_below_the_window_reaches_it_without_being_translated(module):
    for path in sorted((UI.parent / module).rglob("*.py")):
        found = {words for _, words in bare_texts(path.read_text("utf-8"))}
        assert found <= set(NOT_SHOWN.get(f"{module}/{path.name}", ())), path


@pytest.mark.parametrize("package", TRANSLATED_ERRORS)
def test_no_error_that_the_window_shows_is_raised_without_being_translated(package):
    errors = SHOWN_ERRORS.union(TRANSLATED_ERRORS[package])
    modules = sorted((UI.parents[1] / package).rglob("*.py"))
    assert modules
    for path in modules:
        assert not bare_errors(path.read_text("utf-8"), errors), path


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('raise Fault("no style was chosen")', "no style was chosen"),
        ('raise Fault("damaged")', "damaged"),
        ("raise Fault(f\"'{name}' is damaged\") from exc", "'' is damaged"),
        ('raise errors.Fault(f"{name} is damaged")', " is damaged"),
        ('def lost(): return Fault(f"{name} was lost")', " was lost"),
        ("raise Fault(f\"{' or '.join(names)}: {exc}\")", " or "),
        ('raise Fault("one" if alone else tr("several"))', "one"),
        ('raise Fault(clauses((tr("It stopped"), "try again")))', "try again"),
        ('raise Fault(tr("{what} stopped", what=f"the camera {name}"))', "the camera "),
        ('raise Fault("it stopped at {n}".format(n=n))', "it stopped at {n}"),
        ('GONE = "it is gone"\ndef f(): raise Fault(GONE)', "it is gone"),
        ('GONE = mark("gone")\ndef f(): raise Fault(f"{GONE}: {exc}")', "gone"),
        ('def f():\n    said = f"{name} is gone"\n    raise Fault(said)', " is gone"),
        ('def f():\n    said = said + " is gone"\n    raise Fault(said)', " is gone"),
    ],
)
def test_a_bare_text_of_an_error_is_found(source, words):
    assert [found for _, found in bare_errors(source, {"Fault"})] == [words]


@pytest.mark.parametrize(
    "source",
    [
        'raise Fault(tr("no style was chosen"))',
        'raise Fault(trn("{n} style", "{n} styles", n))',
        "raise Fault(str(exc))",
        "raise Fault(reason)",
        "raise Fault",
        'raise Fault(f"{width}x{height}: {exc}")',
        'raise Other("no style was chosen")',
        'raise Fault(told(exc, "a key of three"))',
        'raise Fault(tr("one") if kind == "of one" else tr("several"))',
        "raise Fault(labeled(f\"'{name}'\", str(exc)))",
        'raise Fault(tr("{file} has no {part}", file=name, part="style.toml"))',
        'GONE = mark("it is gone")\ndef f(): raise Fault(tr(GONE))',
        'NAME = "style.toml"\ndef f(): raise Fault(f"{NAME}: {exc}")',
        'def f():\n    said = tr("it is gone")\n    raise Fault(said)',
        'def f(): said = "it is gone"\ndef g(said): raise Fault(said)',
    ],
)
def test_a_text_of_an_error_that_is_translated_or_none_is_not_found(source):
    assert not bare_errors(source, {"Fault"})


@pytest.mark.parametrize(
    "source",
    [
        'label.setText("Ready")',
        'label.setToolTip(f"Open {name}")',
        'say("One file" if one else files)',
        'WORDS = {"a": "Nothing is open"}',
        'label.setText(", ".join(filter(None, ("Smooth", rate))))',
        'return f"Runs on {device}"',
        'tr("{what}", what="the processor")',
        'button = make_button("&Close", tip, slot)',
        'session.run(work, done, failure=f"Could not read {name}")',
        'form.add("codec", box)',
        'for title, box in (("Co&dec", a), (tr("&Quality"), b)):\n    form.add(title, box)',
        'def ask(question: str, no: str = "Cance&l"): ...',
        'def show(name, *, title="Nothing is open"): ...',
        'return f"about {rate}"',
        'return f"{rate} pictures"',
        'group = f"Group: {name}" if name else ""',
    ],
)
def test_a_bare_text_is_found(source):
    assert len(bare_texts(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'label.setText(tr("Ready"))',
        'label.setObjectName("problem")',
        'raise ValueError("there is no such theme")',
        'log.warning("this is not there")',
        'session.run(work, done, failure="Could not read the file")',
        'def f():\n    """Do what is said."""',
        'WORDS = {"a": mark("Nothing is open")}',
        'WORDS = {"a key of two words": mark("Nothing is open")}',
        'label.setText(f"{count} %")',
        'form.add(tr("&Codec"), box)',
        'shown.add("codec")',
        'def ask(question: str, key: str = "codec", no: str = ""): ...',
        'return f"{style}_lite.png", f"{width}x{height}", f"{seconds} s"',
        '__all__ = ["Engine", "EngineError"]',
    ],
)
def test_what_is_translated_or_not_shown_is_no_bare_text(source):
    assert not bare_texts(source)


def test_a_call_says_the_keys_of_its_texts():
    source = 'tr("a {b}", b=tr("c", "d")); trn("{n} e", "{n} es", n); run(failure="f"); tr(table)'
    assert set(translations.texts_of(source)) == {
        ("a {b}", False),
        ("d|c", False),
        ("{n} es", True),
        ("f", False),
    }


@pytest.fixture(scope="module")
def texts() -> dict[str, translations.Texts]:
    return translations.texts()


def test_the_files_have_all_texts_of_the_program_each_in_one_place(texts):
    wanted = {area: list(keys) for area, keys in texts.items()}
    for language in LANGUAGES:
        if language != SOURCE:
            folder = FOLDER / language
            held = {
                path.stem: list(json.loads(path.read_text("utf-8")))
                for path in folder.glob("*.json")
            }
            assert held == wanted, "run python -m tools.translations"


@pytest.mark.parametrize("language", [key for key in LANGUAGES if key != SOURCE])
def test_a_translation_has_what_its_text_has(language, texts, monkeypatch):
    monkeypatch.setattr(translations, "texts", lambda: texts)
    assert not translations.faults(language)


@pytest.mark.parametrize("language", available())
def test_nearly_all_of_a_language_that_is_offered_is_translated(language):
    assert share(language) > 0.95


@pytest.mark.parametrize(
    "translation", ["{x} öffnen...", "&{name} öffnen...", "{name} öffnen", "{name} öffnen... "]
)
def test_a_translation_that_does_not_suit_its_text_is_told(translation, tmp_path, monkeypatch):
    monkeypatch.setattr(translations, "texts", lambda: {"all": {"Open {name}...": False}})
    (tmp_path / "de").mkdir()
    said = json.dumps({"Open {name}...": translation})
    (tmp_path / "de" / "all.json").write_text(said, "utf-8")
    assert len(translations.faults("de", tmp_path)) == 1


def test_an_update_keeps_translations_and_takes_out_what_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(translations, "texts", lambda: {"new": {"a": False, "{n} b": True}})
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "old.json").write_text('{"a": "A", "c": "C"}', "utf-8")
    translations.update(tmp_path)
    assert [path.name for path in (tmp_path / "de").iterdir()] == ["new.json"]
    filled = json.loads((tmp_path / "de" / "new.json").read_text("utf-8"))
    assert filled == {"a": "A", "{n} b": {"one": "", "other": ""}}
    assert translations.missing("de", tmp_path) == ["{n} b"]
