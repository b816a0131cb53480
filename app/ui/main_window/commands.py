"""The commands behind the window's actions."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit

from app.settings import ALWAYS, NEVER
from app.ui.actions import STYLE_KEYS
from app.ui.controllers.exporter import RECORDED, films_folder
from app.ui.controllers.gallery_controller import GALLERY_ACTIONS
from app.ui.help_dialog import ANSWERS, KEYS, HelpDialog
from app.ui.main_window.palette_opener import PaletteOpener
from app.ui.main_window.parts import WindowParts
from app.ui.main_window.views import Views
from app.ui.main_window.visibility import Visibility
from app.ui.person.controller import PERSON_ACTIONS
from app.ui.second_start import open_another
from app.ui.showing.controller import SHOW_ACTIONS
from app.ui.theme.theme import CHOICES
from app.ui.viewport.viewport import VIEWS
from app.ui.wall.sources import OPENERS
from utils.translation.texts import tr

SEEK_S = 5.0
IN_GALLERY = ("search_styles", "try_style")  # they focus the gallery


class Commands:
    """The commands of `window`, whose parts may be created later.

    Attributes:
        help: The dialog of keys and answers; None until first shown.
        palette: Opens the command palette; None until first used.
    """

    def __init__(self, window: WindowParts, views: Views, visibility: Visibility) -> None:
        self._window, self._views, self._visibility = window, views, visibility
        self.help: HelpDialog | None = None
        self.palette: PaletteOpener | None = None

    def slots(self) -> dict[str, Callable[[], object]]:
        window, views, visible = self._window, self._views, self._visibility
        return {
            "open": lambda: window.opener.ask_files(),
            **{key: lambda key=key: window.wall.sources.act(key) for key in OPENERS},
            "open_folder": lambda: window.opener.ask_folder(),
            "address": self._ask_address,
            "paste": self._paste,
            "sources": lambda: window.toolbar.pop_up_sources(),
            "camera_mode": lambda: window.camera.ask(),
            "wall_camera": lambda: self._keep_answer("wall_camera"),
            "remember_source": lambda: self._keep_answer("remember_source"),
            "pause": self._pause,
            "previous": lambda: self._seek_or_step(-1),
            "next": lambda: self._seek_or_step(1),
            "step_back": lambda: window.player.step(-1),
            "step_forward": lambda: window.player.step(1),
            "mark_start": lambda: window.player.mark_start(),
            "mark_end": lambda: window.player.mark_end(),
            "loop": lambda: window.player.toggle_loop(),
            "mute": lambda: window.player.toggle_mute(),
            "louder": lambda: window.player.change_volume(1),
            "softer": lambda: window.player.change_volume(-1),
            "snapshot": lambda: window.exporter.snapshot(),
            "record": lambda: window.exporter.record(),
            "record_sound": self._next_record_sound,
            **{key: lambda key=key: window.person.act(key) for key in PERSON_ACTIONS},
            "brush": lambda: window.brushing.toggle(),
            "virtual_camera": lambda: window.virtual_camera.toggle(),
            "obs": lambda: window.virtual_camera.ask_obs(),
            "camera_settings": lambda: window.virtual_camera.ask(),
            "save": lambda: window.exporter.save_as(window),
            "export_film": lambda: window.film_exporter.ask(window, films_folder()),
            "copy": lambda: window.exporter.copy(),
            **{key: lambda key=key: window.showing.act(key) for key in SHOW_ACTIONS},
            "paint_all": lambda: window.paint_all.ask(),
            "queue": lambda: window.queue.toggle(),
            **{key: lambda key=key: window.styles.act(key) for key in GALLERY_ACTIONS},
            **{f"style_{n}": lambda n=n: self._choose_style(n) for n in range(1, STYLE_KEYS + 1)},
            **{key: lambda key=key: self._act_in_gallery(key) for key in IN_GALLERY},
            "train": lambda: window.training_launcher.open(),
            **{f"view_{view}": lambda view=view: views.choose(view) for view in VIEWS},
            "compare": views.toggle_compare,
            "undo": lambda: window.undo.undo(),
            "redo": lambda: window.undo.redo(),
            "save_look": lambda: window.looks.save(),
            "looks": lambda: visible.toggle_strip("looks", "show_looks"),
            "reset": lambda: window.reset.reset_all(),
            "cycle_view": views.choose_next,
            "zoom_in": lambda: window.viewport.zoom.zoom_in(),
            "zoom_out": lambda: window.viewport.zoom.zoom_out(),
            "zoom_fit": lambda: window.viewport.zoom.fit(),
            "zoom_actual": lambda: window.viewport.zoom.actual_size(),
            "mirror": lambda: visible.store_checked("mirror", "mirror"),
            "overlay": lambda: visible.store_checked("overlay", "overlay"),
            "smoother": lambda: window.panel.speed_control.move(-1),
            "sharper": lambda: window.panel.speed_control.move(1),
            "automatic_speed": lambda: window.panel.speed_control.automatic(),
            "advanced": self._toggle_advanced,
            "details": self._show_details,
            "badge": lambda: visible.store_checked("badge", "badge"),
            "layers": visible.toggle_layers,
            "gallery": lambda: visible.toggle_strip("gallery", "show_gallery"),
            "film_strip": lambda: visible.toggle_strip("film_strip", "show_strip"),
            "panel": visible.toggle_panel,
            "theme": self._next_theme,
            "reduce_motion": self._toggle_reduce_motion,
            "language": lambda: window.languages.pop_up(),
            "fullscreen": visible.toggle_full_screen,
            "wall": self._show_wall,
            "back": self.back,
            "palette": self._toggle_palette,
            "menu": self._pop_up_menu,
            "help": lambda: self._show_help(KEYS),
            "questions": lambda: self._show_help(ANSWERS),
            "copy_details": lambda: window.problems.copy_details(),
            "copy_report": lambda: window.report_copier.copy(),
            "new_window": open_another,
            "quit": lambda: window.close(),
        }

    def _choose_style(self, number: int) -> None:
        """Choose a painting of the wall, or a style of the gallery."""
        window = self._window
        if window.wall.shown and not window.queue.shown:
            window.wall.choose_number(number)
        else:
            window.styles.act(f"style_{number}")

    def _show_wall(self) -> None:
        if self._window.queue.shown:
            self._window.queue.hide()
            self._window.wall.show()
        else:
            self._window.wall.toggle()

    def _pop_up_menu(self) -> None:
        window = self._window
        if window.wall.page.isVisible():
            window.wall.pop_up(window.toolbar.menu)
        else:
            window.toolbar.pop_up_menu()

    def _paste(self) -> None:
        """Paste a style if the gallery has the focus, otherwise a source."""
        window = self._window
        (window.styles.pictures if window.gallery.has_focus else window.drop_handler).paste()

    def _keep_answer(self, key: str) -> None:
        """Store whether an action is checked as the answer that a question would have got."""
        window = self._window
        answer = ALWAYS if window.actions_by_key[key].isChecked() else NEVER
        window.settings.update(**{key: answer})
        window.remembering.settle()

    def _pause(self) -> None:
        window = self._window
        window.session.paused = window.actions_by_key["pause"].isChecked()

    def _next_record_sound(self) -> None:
        window = self._window
        choice = _next_in(tuple(RECORDED), window.settings.value.record_sound)
        window.settings.update(record_sound=choice)
        self.update_record_sound_action()
        window.notices.show_notice(tr(RECORDED[choice]))

    def update_record_sound_action(self) -> None:
        """Show in the menu which sound is recorded."""
        window = self._window
        text = tr(
            "Sound of recordings: {kind}", kind=tr(window.settings.value.record_sound, "sound")
        )
        window.actions_by_key["record_sound"].setText(text)

    def _seek_or_step(self, direction: int) -> None:
        window = self._window
        info = window.session.info
        if info is None:
            return
        if info.count > 1:
            window.session.step(direction)
        elif info.duration:
            window.session.seek(window.session.position + direction * SEEK_S)

    def back(self) -> None:
        """Leave full screen, or cancel the latest activity, or dismiss a message.

        With nothing to leave or dismiss, return to the wall.
        """
        window = self._window
        if window.brushing.on:
            window.brushing.toggle()
        elif window.isFullScreen():
            self._visibility.toggle_full_screen()
        elif window.styles.trial.key:
            window.styles.trial.stop()
        elif window.questions.isVisible():
            window.questions.dismiss()
            if window.focusWidget() is None or window.questions.isAncestorOf(window.focusWidget()):
                window.viewport.setFocus()
        elif window.speed_test.measuring:
            window.speed_test.sheet.cancel.click()
        elif working := [bar for bar in window.quick_bars if bar.isVisible()]:
            working[0].cancel.click()
        elif window.focusWidget() is window.panel.sources.address:
            window.panel.sources.close_address()
        elif isinstance(window.focusWidget(), QLineEdit):
            window.viewport.setFocus()  # letter keys are shortcuts again there
        elif window.workspace.narrow and window.workspace.panel_shown:
            window.workspace.close_drawer()
        elif window.toast.shown:
            window.toast.dismiss()
        elif window.queue.shown:
            window.queue.hide()
        else:
            window.wall.show()

    def _next_theme(self) -> None:
        window = self._window
        window.theme.choice = _next_in(CHOICES, window.theme.choice)
        window.settings.update(theme=window.theme.choice)
        self.update_theme_action()

    def _toggle_reduce_motion(self) -> None:
        window = self._window
        self._visibility.store_checked("reduce_motion", "reduce_motion")
        window.theme.reduce_motion = window.settings.value.reduce_motion

    def update_theme_action(self) -> None:
        """Show in the menu which theme is chosen."""
        window = self._window
        window.actions_by_key["theme"].setText(
            tr("Theme: {choice}", choice=tr(window.theme.choice))
        )

    def _show_details(self) -> None:
        window = self._window
        if window.viewport.styled is not None:
            window.notices.show_notice(str(window.viewport.styled.running))

    def _show_help(self, page: int) -> None:
        if self.help is None:
            self.help = HelpDialog(self._window)
        self.help.show_page(page)
        self.help.bring_up()

    def _show_answer(self, question: str) -> None:
        self._show_help(ANSWERS)
        assert self.help is not None
        self.help.show_question(question)

    def _toggle_palette(self) -> None:
        if self.palette is None:
            self.palette = PaletteOpener(self._window, self._visibility, self._show_answer)
        self.palette.toggle()

    def _ask_address(self) -> None:
        self._visibility.show_panel()
        self._window.panel.ask_address()

    def _act_in_gallery(self, key: str) -> None:
        """Run an action that focuses the gallery, with the gallery visible."""
        self._visibility.show_gallery()
        self._window.styles.act(key)

    def _toggle_advanced(self) -> None:
        self._visibility.store_checked("advanced", "advanced")
        if self._window.settings.value.advanced:
            self._visibility.show_engine()


def _next_in(choices: tuple[str, ...], current: str) -> str:
    return choices[(choices.index(current) + 1) % len(choices)]
