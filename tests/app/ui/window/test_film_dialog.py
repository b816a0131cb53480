"""The export dialog previews the film, and estimates its time and size before it is made."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from app.engine.config import EngineConfig
from app.export.film.reader import film_info
from app.settings import Settings
from app.ui.film.dialog import FilmDialog
from app.ui.film.estimates import size_words, time_words
from app.ui.film.options import FAST, FINE, FilmOptions
from app.ui.film.order import ExportOrder, read_order
from app.ui.film.part_picker import FilmFacts
from tests.app.export.film.conftest import Plain
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_film_export import file_dialog, film, held, options_of, pick, playing
from tests.helpers.films import times_of, write_film

__all__ = ["film", "held", "playing"]  # fixtures
FRAME = 1001 / 30000


@pytest.fixture
def configs(playing, monkeypatch) -> list[EngineConfig]:
    """Paint with a styling that changes nothing, and keep the configs that ask for one."""
    asked: list[EngineConfig] = []

    def styling(catalog, config: EngineConfig) -> Plain:
        asked.append(config)
        return Plain()

    monkeypatch.setattr(playing.film_exporter, "_styling", styling)
    return asked


def asked(window) -> FilmDialog:
    press(window, "export_film")
    return options_of(window)


def lines(dialog: FilmDialog, network: str) -> tuple[str, str]:
    return dialog.versions.cards[network].lines


def measured(dialog: FilmDialog, qtbot, network: str = FINE) -> None:
    qtbot.waitUntil(lambda: "MB" in lines(dialog, network)[1], timeout=30_000)


def test_a_frame_is_painted_and_the_film_measured(playing, configs, qtbot):
    playing.film_exporter._session.seek(0.0)
    dialog = asked(playing)
    assert not dialog.preview.painted
    assert lines(dialog, FINE)[0]  # what is being done, before there is a number
    measured(dialog, qtbot)
    qtbot.waitUntil(lambda: dialog.preview.painted, timeout=10_000)
    assert lines(dialog, FINE)[0] == time_words(0.1)
    assert not dialog.versions.cards[FAST].isEnabled()  # Candy has no lite network
    dialog.reject()


def test_both_versions_are_measured_if_the_style_has_both(playing, configs, qtbot, monkeypatch):
    monkeypatch.setattr(playing.session.catalog, "has_lite", lambda key: True)
    dialog = asked(playing)
    for network in (FINE, FAST):
        measured(dialog, qtbot, network)
    assert {config.network for config in configs} == {FINE, FAST}
    dialog.versions.cards[FAST].click()
    measured(dialog, qtbot)
    assert dialog.options.network == FAST
    dialog.accept()
    file_dialog(playing).done(0)
    assert playing.settings.current().film_network == FAST


def test_a_fast_version_that_is_missing_is_not_exported(playing, configs, qtbot):
    playing.film_exporter._options = FilmOptions(network=FAST)
    dialog = asked(playing)
    measured(dialog, qtbot)
    assert dialog.options.network == FINE
    assert not dialog.versions.cards[FAST].isEnabled()
    dialog.reject()


def test_a_closed_dialog_measures_nothing_and_the_film_plays_on(playing, held, qtbot):
    dialog = asked(playing)
    trial = playing.film_exporter._trial
    told: list[object] = []
    trial.measured.connect(told.append)
    assert playing.session.paused
    dialog.reject()
    assert not playing.session.paused
    held.allow()
    qtbot.wait(200)
    assert not told


def test_marks_of_the_player_are_a_part_to_choose(playing, film, configs, tmp_path, qtbot):
    playing.player._start, playing.player._end = 4 * FRAME, 11 * FRAME
    dialog = asked(playing)
    assert dialog.part is None  # unless it is chosen
    pick(dialog.part_picker.box, "part")
    assert dialog.part == pytest.approx((4 * FRAME, 12 * FRAME))
    options, part = dialog.options, dialog.part
    dialog.reject()
    out = tmp_path / "out.mp4"
    playing.film_exporter.export(film, out, options, part)
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10_000)
    assert len(times_of(out)) == 8


def test_a_part_is_marked_in_the_dialog(playing, configs, qtbot):
    dialog = asked(playing)
    picker = dialog.part_picker
    picker.slider.setValue(50)
    picker.begin.click()
    assert dialog.part == pytest.approx((0.5, film_info_of(playing).seconds), abs=0.01)
    picker.slider.setValue(20)
    picker.finish.click()  # before the begin, which is given up
    assert dialog.part == pytest.approx((0.0, 0.2 + FRAME), abs=0.01)
    qtbot.waitUntil(lambda: dialog.preview.painted, timeout=10_000)
    dialog.reject()


def film_info_of(window):
    return film_info(window.film_exporter._source())


def test_size_and_sound_are_those_of_the_exported_film(playing, configs, tmp_path, qtbot):
    large = write_film(tmp_path / "large.mp4", range(0, 8008, 1001), sound="aac")
    out = tmp_path / "out.mp4"
    options = FilmOptions(lines=24, sound=False)
    playing.film_exporter.export(large, out, options)
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10_000)
    assert (film_info(out).width, film_info(out).height) == (32, 24)
    assert configs[-1].size == 32


def test_no_size_is_larger_than_the_film(qtbot, playing):
    dialog = FilmDialog(playing, lambda options: None)
    dialog.show_film(FilmFacts(1920, 1080, 25.0, 9.0, sound=True))
    dialog.show_options(FilmOptions(lines=1440))
    rows = [dialog.size_box.itemData(row) for row in range(dialog.size_box.count())]
    assert rows == [0, 720, 480]
    assert dialog.size_box.currentData() == 0
    assert dialog.options.lines == 1440  # for the next larger film


def test_an_animation_has_no_sound_to_keep(qtbot, playing):
    dialog = FilmDialog(playing, lambda options: None)
    dialog.show_film(FilmFacts(64, 48, 25.0, 9.0, sound=True))
    dialog.show_options(FilmOptions())
    assert dialog.sound.isEnabled()
    pick(dialog.codec, "gif")
    assert not dialog.sound.isEnabled()
    pick(dialog.codec, "h264")
    assert dialog.sound.isChecked()


def test_a_film_that_cannot_be_made_is_told_before_the_export(
    window, session, tmp_path, qtbot, monkeypatch
):
    monkeypatch.setattr(window.film_exporter, "_styling", lambda catalog, config: Plain())
    loud = write_film(tmp_path / "loud.avi", range(30), sound="adpcm_ms", base=Fraction(1, 30))
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(loud))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    dialog = asked(window)
    qtbot.waitUntil(lambda: "adpcm_ms" in dialog._fault.text(), timeout=20_000)
    dialog.sound.click()  # leave it out
    measured(dialog, qtbot)
    assert not dialog._fault.text()
    dialog.reject()


def test_an_order_of_an_earlier_version_is_read(tmp_path):
    order = ExportOrder(tmp_path / "a.mp4", tmp_path / "b.mp4", EngineConfig())
    order.write(tmp_path)
    about = json.loads(order.file(tmp_path).read_text())
    for name in ("network", "lines", "sound"):
        del about["options"][name]
    del about["part"]
    order.file(tmp_path).write_text(json.dumps(about))
    assert read_order(order.file(tmp_path)) == order


def test_an_order_keeps_its_part(tmp_path):
    order = ExportOrder(tmp_path / "a.mp4", tmp_path / "b.mp4", EngineConfig(), part=(1.0, 2.5))
    order.write(tmp_path)
    assert read_order(order.file(tmp_path)) == order
    about = json.loads(order.file(tmp_path).read_text())
    about["part"] = [2.0, 1.0]
    order.file(tmp_path).write_text(json.dumps(about))
    with pytest.raises(ValueError, match="part"):
        read_order(order.file(tmp_path))


def test_the_options_are_stored_settings():
    options = FilmOptions("gif", "cpu", "small", FAST, 480, sound=False)
    assert FilmOptions.stored(replace(Settings(), **options.settings)) == options


def test_an_estimate_has_two_digits():
    assert "180" in size_words(184e6)
    assert "1.2" in size_words(1.23e9)
    assert "12" in size_words(12.4e6)
