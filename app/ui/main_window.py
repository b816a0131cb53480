"""The main window: assembles the parts and connects them to the session."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, QPoint, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMainWindow,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.errors import ADVICE, Problem
from app.frame import SourceInfo
from app.live.session import Session
from app.settings import Settings
from app.styles.pack import Style
from app.translation.texts import tr
from app.ui import actions
from app.ui.camera.controller import CameraController
from app.ui.controllers.drop_handler import DropHandler
from app.ui.controllers.exporter import RECORDED, Exporter, films_folder
from app.ui.controllers.gallery_controller import GALLERY_ACTIONS, GalleryController
from app.ui.controllers.loading_message import LoadingMessage
from app.ui.controllers.settings_mapping import settings_with_config, stored_source
from app.ui.controllers.settings_saver import SettingsSaver
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.controllers.style_mixer import StyleMixer
from app.ui.file_dialogs import FileDialogs
from app.ui.film.exporter import ExportShown, FilmExporter
from app.ui.film.options import FilmOptions
from app.ui.film_strip.controller import FilmStripController
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.help_dialog import ANSWERS, KEYS, HelpDialog
from app.ui.incremental_work import IncrementalWork
from app.ui.languages.menu import LanguageMenu
from app.ui.looks.controller import LookController
from app.ui.looks.gestures import Gestures
from app.ui.looks.reset import ResetController
from app.ui.looks.undo import UndoController
from app.ui.player.bar import PlaybackBar
from app.ui.player.player import Player
from app.ui.player.recording_light import RecordingLight
from app.ui.queue.controller import QueueController
from app.ui.shortcut_filter import is_own_key
from app.ui.showing.controller import SHOW_ACTIONS, ShowController
from app.ui.showing.saved_files import SavedFiles
from app.ui.speed.badge import SpeedBadge
from app.ui.speed.compiling import CompileWatch
from app.ui.speed.words import plain_words
from app.ui.startup_view import INITIAL_SIZE
from app.ui.support.report_copier import ReportCopier
from app.ui.theme.icons import application_icon
from app.ui.theme.theme import CHOICES, Theme
from app.ui.theme.tokens import SPACE
from app.ui.training.launcher import TrainingLauncher
from app.ui.viewport.stats_overlay import Overlay
from app.ui.viewport.viewport import VIEWS, Viewport
from app.ui.virtual_camera.switch import CameraSwitch
from app.ui.welcome.controller import CARDS, WelcomeController
from app.ui.widgets.control_panel import ControlPanel
from app.ui.widgets.job_bar import FilmBar, JobBar, PaintingBar
from app.ui.widgets.message_bars import NoticeBar, ProblemBar
from app.ui.widgets.message_stack import MessageStack
from app.ui.widgets.parameter_controls import FractionControl
from app.ui.widgets.prompt_bar import PromptBar
from app.ui.widgets.status_bar import StatusBar
from app.ui.widgets.toolbar import Toolbar, tool_button
from app.ui.window_geometry import WindowGeometry
from app.ui.workspace import Workspace

SEEK_S = 5.0
SAVE_DELAY_MS = 1000  # settings are saved this long after the last change


class MainWindow(QMainWindow):
    """The main window.

    `save_settings` is called with changed settings, a little later and on another thread, and once
    more on closing. The window does not shut the session down.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        save_settings: Callable[[Settings], None],
    ) -> None:
        super().__init__()
        self.session = session
        self._settings = settings
        self._saver = SettingsSaver(session.run, save_settings)
        self._view_before, self._maximized = "styled", False
        self.setWindowTitle("StyleForge")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.resize(*INITIAL_SIZE)
        WindowGeometry(self)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self.theme = Theme(app, self, settings.theme, reduce_motion=settings.reduce_motion)
        self._make_parts()
        self._lay_out()
        self._connect()
        self._restore()

    # Building

    def _make_parts(self) -> None:
        self.mixer = StyleMixer(self.session)
        self.actions_by_key = actions.build_actions(self, self._slots())
        self._icons = IncrementalWork(self)
        self.sources_menu = QMenu(self)
        self.toolbar = Toolbar(self.actions_by_key, self.sources_menu, self)
        self.problems = ProblemBar(self)
        self.notices = NoticeBar(self)
        self.questions = PromptBar(self)
        self.job, self.painting, self.film = JobBar(self), PaintingBar(self), FilmBar(self)
        self.viewport = Viewport(self.session.on_painted, self)
        self.loading_message = LoadingMessage(self.session, self.viewport, self.mixer.label)
        shown = (
            lambda: self.session.metrics.stats(time.perf_counter()),
            lambda: self.viewport.styled,
        )
        self.badge = SpeedBadge(*shown, self.actions_by_key["overlay"], self.viewport)
        self.overlay = Overlay(
            *shown,
            self._reserve_headroom,
            self.viewport,
        )
        self.overlay.move(QPoint(2 * SPACE, 2 * SPACE))
        self.playback_bar = PlaybackBar(self.actions_by_key, self)
        adding = [self.actions_by_key[key] for key in ("style_picture", "install_style")]
        buttons = [tool_button(action, self, words=True) for action in adding]
        self.gallery = StyleGallery(self.session.run, buttons, self)
        self.panel = ControlPanel(self.session, self.actions_by_key["advanced"], self)
        self.status = StatusBar(tool_button(self.actions_by_key["details"], self, words=True), self)
        CompileWatch(
            lambda: shown[0]().displayed_fps,
            self.status.show_progress,
            self.notices.show_notice,
            self,
        )
        self.file_dialogs = FileDialogs(lambda: self._settings, self._update_settings)
        self.opener = SourceOpener(
            self.session, self.panel, self.sources_menu, self._trigger, self.file_dialogs, self
        )
        self.installer = StyleInstaller(self.session, self.questions)
        self.queue = QueueController(
            self.session,
            self.viewport,
            self.mixer.label,
            lambda: self._settings,
            self._update_settings,
            self.file_dialogs,
            self.questions,
            self.notices,
            self.theme,
            self,
        )
        self.drop_handler = DropHandler(
            self.session, self.viewport, self.opener, self.installer, self.queue.ask_add
        )
        saved = SavedFiles(self.notices, self.session.problem.emit, self.session.run)
        self.exporter = Exporter(
            self.session,
            lambda: self.viewport.styled,
            self.notices.show_notice,
            self.file_dialogs,
            self._show_recording,
            lambda: self._settings.record_sound,
            saved=saved.tell,
        )
        self.recording_light = RecordingLight(lambda: self.exporter.recorded, self.viewport)
        self.virtual_camera = CameraSwitch(
            self.session,
            self.actions_by_key["virtual_camera"],
            lambda: self.viewport.styled,
            lambda: self._settings,
            self._update_settings,
            self.status.show_camera,
            self,
        )
        self.film_exporter = FilmExporter(
            self.session,
            self.notices.show_notice,
            self.file_dialogs,
            FilmOptions.stored(self._settings),
            self._update_settings,
            saved=saved.tell,
        )
        self.training_launcher = TrainingLauncher(
            self.session,
            lambda: self.viewport.styled,
            self._update_settings,
            self.file_dialogs,
            self.questions,
            self.actions_by_key["train"].shortcut(),
            self,
        )
        self.styles = GalleryController(
            self.session,
            self.gallery,
            self.mixer,
            self.installer,
            self.opener,
            self.file_dialogs,
            lambda *style: self.training_launcher.open(self._settings, *style),
            lambda: self._settings,
            self._update_settings,
            self.viewport.set_style_title,
            self.actions_by_key,
            self,
        )
        self.player = Player(
            self.session,
            self.playback_bar,
            self.actions_by_key,
            lambda: self._settings,
            self._update_settings,
            self.notices.show_notice,
            self,
        )
        self.looks = LookController(
            self.session,
            lambda: self.viewport.styled,
            self.questions,
            self.notices,
            self.actions_by_key,
            self,
        )
        self.drop_handler.open_spec = self.looks.open_dropped
        self.reset = ResetController(self.session, self.panel)
        sliders = self.panel.findChildren(FractionControl)
        gestures = Gestures((*sliders, self.panel.wheel, self.panel.speed.slider), self)
        self.undo = UndoController(self.session, gestures, self.actions_by_key, self)
        self.welcome = WelcomeController(
            self.session,
            self.actions_by_key,
            self.file_dialogs,
            self.notices.show_notice,
            self.viewport,
            self,
        )
        self.film_strip = FilmStripController(self.session, self)
        self.camera = CameraController(self.session, self.actions_by_key, self.viewport, self)
        self.showing = ShowController(
            self.session,
            self.viewport,
            self.actions_by_key,
            lambda: self._settings,
            self._update_settings,
            self.notices.show_notice,
            saved,
            self.file_dialogs,
            self,
        )
        self.report_copier = ReportCopier(
            self.session.run,
            lambda: self._saver.save(self._current_settings()),
            self.notices.show_notice,
            self.problems.add,
            self.actions_by_key["copy_report"],
        )
        self.languages = LanguageMenu(
            self.actions_by_key["language"],
            self._settings.language,
            self.session.run,
            self._update_settings,
            self.notices.show_notice,
            self,
        )
        self._help: HelpDialog | None = None
        self._save_later = QTimer(self, interval=SAVE_DELAY_MS, singleShot=True)
        self._save_later.timeout.connect(lambda: self._saver.save(self._current_settings()))

    def _lay_out(self) -> None:
        self.bottom_bars = QWidget(self)
        foot = QVBoxLayout(self.bottom_bars)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(0)
        foot.addWidget(self.film_strip.strip)
        foot.addWidget(self.playback_bar)
        foot.addWidget(self.looks.strip)
        foot.addWidget(self.gallery)
        bars = self.problems, self.notices, self.questions, self.job, self.painting, self.film
        self.messages = MessageStack(*bars, parent=self)
        self.workspace = Workspace(
            self.toolbar,
            self.messages,
            self.queue.pages,
            self.bottom_bars,
            self.panel,
            self.status,
            self,
        )
        self.setCentralWidget(self.workspace)
        for part in (self.toolbar, self.viewport, *bars, self.bottom_bars, self.panel, self.status):
            self.theme.add_widget(part)

    def _connect(self) -> None:
        session = self.session
        session.styled.connect(self._on_styled)
        session.problem.connect(self.problems.add)
        for reporting in (self.problems, self.training_launcher):
            reporting.report_requested.connect(self.actions_by_key["copy_report"].trigger)
        session.notice.connect(self.notices.show_notice)
        session.style_jobs.progress.connect(self.job.show_progress)
        self.job.canceled.connect(session.style_jobs.cancel)
        session.progress.connect(self.painting.show_share)
        self.painting.canceled.connect(session.cancel)
        self.film_exporter.progressed.connect(self._show_export)
        self.film_exporter.ended.connect(lambda: self.film.show_export("", 0.0))
        self.film.paused.connect(self.film_exporter.pause)
        self.film.canceled.connect(self.film_exporter.cancel)
        session.source_status.connect(self.notices.show_state)
        session.config_changed.connect(self._on_config_changed)
        session.source_changed.connect(self._on_source_changed)
        session.paused_changed.connect(self.actions_by_key["pause"].setChecked)
        session.styles_changed.connect(lambda: self._on_config_changed(session.config))
        session.trained.connect(self._show_trained_style)
        session.picture_styled.connect(
            lambda style: self.training_launcher.offer(style, self.notices, lambda: self._settings)
        )
        self.panel.mix_picked.connect(self.mixer.pick)
        self.panel.address_left.connect(self.viewport.setFocus)
        self.training_launcher.progress_text_changed.connect(self.toolbar.show_training)
        self.training_launcher.ready_to_close.connect(self.close)
        self.queue.words_changed.connect(self.toolbar.show_queue)
        self.queue.shown_changed.connect(self._update_visibility)
        self.queue.ready_to_close.connect(self.close)
        session.opening_changed.connect(lambda opening: opening and self.queue.hide())
        for follow in (session.set_display_size, self._follow_screen):
            self.viewport.resized.connect(follow)
        self.workspace.panel_changed.connect(self._update_panel_action)
        for part in (self.viewport, self.overlay, self.badge, self.queue, self.camera.held):
            self.messages.covered_height_changed.connect(part.set_covered_height)
        self.viewport.split_changed.connect(lambda split: self._update_settings(split=split))
        self.theme.changed.connect(
            lambda tokens: self._icons.start(actions.apply_icons(self.actions_by_key, tokens))
        )

    def _restore(self) -> None:
        settings = self._settings
        for _group in actions.apply_icons(self.actions_by_key, self.theme.tokens):
            pass  # all at once, before the window is shown
        if settings.geometry:
            self.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode()))
        self.viewport.split = settings.split
        self.viewport.show_empty(
            tr("Drop a picture, a video or a folder here"),
            tr("or open one (Ctrl+O), paste one (Ctrl+V), or choose a camera in the panel"),
        )
        self._show_view("compare" if self.session.config.compare else settings.view)
        self._update_theme_action()
        self._update_record_sound_action()
        self._update_visibility()
        self.styles.show_styles()
        self.viewport.set_style_title(self.mixer.label())
        self._on_source_changed(self.session.info)
        self.status.show_running(tr("Ready"))
        for sentence in self.session.library.broken:
            self.problems.add(
                Problem(
                    tr("A style cannot be used: {sentence}", sentence=sentence),
                    advice=tr(ADVICE["StyleError"]),
                )
            )
        self.session.studio.look_for_unfinished()
        self.viewport.setFocus()

    def _slots(self) -> dict[str, Callable[[], object]]:
        return {
            "open": lambda: self.opener.ask_files(),
            **{key: lambda key=key: self.welcome.act(key) for key in CARDS},
            "open_folder": lambda: self.opener.ask_folder(),
            "address": self._ask_address,
            "paste": self._paste,
            "sources": lambda: self.toolbar.pop_up_sources(),
            "camera_mode": lambda: self.camera.ask(),
            "pause": self._pause,
            "previous": lambda: self._seek_or_step(-1),
            "next": lambda: self._seek_or_step(1),
            "step_back": lambda: self.player.step(-1),
            "step_forward": lambda: self.player.step(1),
            "mark_start": lambda: self.player.mark_start(),
            "mark_end": lambda: self.player.mark_end(),
            "loop": lambda: self.player.toggle_loop(),
            "mute": lambda: self.player.toggle_mute(),
            "louder": lambda: self.player.change_volume(1),
            "softer": lambda: self.player.change_volume(-1),
            "snapshot": lambda: self.exporter.snapshot(),
            "record": lambda: self.exporter.record(),
            "record_sound": self._next_record_sound,
            "virtual_camera": lambda: self.virtual_camera.toggle(),
            "camera_settings": lambda: self.virtual_camera.ask(),
            "save": lambda: self.exporter.save_as(self),
            "export_film": lambda: self.film_exporter.ask(self, films_folder()),
            "copy": lambda: self.exporter.copy(),
            **{key: lambda key=key: self.showing.act(key) for key in SHOW_ACTIONS},
            "queue": lambda: self.queue.toggle(),
            **{key: lambda key=key: self.styles.act(key) for key in GALLERY_ACTIONS},
            "train": lambda: self.training_launcher.open(self._settings),
            **{f"view_{view}": lambda view=view: self.set_view(view) for view in VIEWS},
            "compare": self._toggle_compare,
            "undo": lambda: self.undo.undo(),
            "redo": lambda: self.undo.redo(),
            "save_look": lambda: self.looks.save(),
            "looks": lambda: self._store_checked("looks", "show_looks"),
            "reset": lambda: self.reset.reset_all(),
            "cycle_view": lambda: self.set_view(_next_in(VIEWS, self.viewport.view)),
            "zoom_in": lambda: self.viewport.zoom.zoom_in(),
            "zoom_out": lambda: self.viewport.zoom.zoom_out(),
            "zoom_fit": lambda: self.viewport.zoom.fit(),
            "zoom_actual": lambda: self.viewport.zoom.actual_size(),
            "mirror": lambda: self._store_checked("mirror", "mirror"),
            "overlay": lambda: self._store_checked("overlay", "overlay"),
            "smoother": lambda: self.panel.speed_control.move(-1),
            "sharper": lambda: self.panel.speed_control.move(1),
            "automatic_speed": lambda: self.panel.speed_control.automatic(),
            "advanced": lambda: self._store_checked("advanced", "advanced"),
            "details": self._show_details,
            "badge": lambda: self._store_checked("badge", "badge"),
            "layers": self._toggle_layers,
            "gallery": lambda: self._store_checked("gallery", "show_gallery"),
            "film_strip": lambda: self._store_checked("film_strip", "show_strip"),
            "panel": self._toggle_panel,
            "theme": self._next_theme,
            "reduce_motion": self._toggle_reduce_motion,
            "language": lambda: self.languages.pop_up(),
            "fullscreen": self._toggle_full_screen,
            "back": self._back,
            "menu": lambda: self.toolbar.pop_up_menu(),
            "help": lambda: self._show_help(KEYS),
            "questions": lambda: self._show_help(ANSWERS),
            "copy_details": lambda: self.problems.copy_details(),
            "copy_report": lambda: self.report_copier.copy(),
            "quit": self.close,
        }

    def _trigger(self, key: str) -> None:
        self.actions_by_key[key].trigger()

    def _follow_screen(self) -> None:
        """Ask for as many results as the screen shows, which offscreen says nothing of."""
        self.session.refresh_rate = self.screen().refreshRate() or 60.0

    # Signals of the session

    def _on_styled(self, styled: StyledFrame) -> None:
        self.loading_message.stop()
        self.viewport.show_styled(styled)
        automatic = styled.config.network == "auto"
        words = plain_words(styled.running, automatic=automatic)
        self.status.show_running(words, str(styled.running))

    def _show_export(self, shown: ExportShown) -> None:
        """Show how far a film is, and its newest frame while nothing else is to be seen."""
        self.film.show_export(shown.text, shown.share)
        if self.session.paused:
            self.viewport.show_styled(shown.styled, timed=False)

    def _on_config_changed(self, config: EngineConfig) -> None:
        self.viewport.set_style_title(self.mixer.label())
        if config.compare != (self.viewport.view == "compare"):
            self._show_view("compare" if config.compare else "styled")
        self.loading_message.start()
        self._save_later.start()

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        self.status.show_source(info)
        self.setWindowTitle(tr("{title} - StyleForge", title=info.title) if info else "StyleForge")
        if info is None:
            self.viewport.show_styled(None)
        elif self.viewport.styled is None:
            self.loading_message.show_now()
        self._save_later.start()

    def _show_trained_style(self, style: Style) -> None:
        def use() -> None:
            self.session.config = self.session.config.mixed([(style.key, 1.0)])

        self.notices.show_offer(
            tr("'{title}' is trained and ready in the gallery", title=style.title),
            tr("&Use it"),
            tr("Style the picture with '{title}'", title=style.title),
            use,
        )

    # Actions of the user

    def _paste(self) -> None:
        """Paste a style while the gallery has the focus, otherwise a source."""
        (self.styles.pictures if self.gallery.has_focus else self.drop_handler).paste()

    def _pause(self) -> None:
        self.session.paused = self.actions_by_key["pause"].isChecked()

    def _show_recording(self, on: bool) -> None:
        self.actions_by_key["record"].setChecked(on)
        self.recording_light.setVisible(on)

    def _next_record_sound(self) -> None:
        choice = _next_in(tuple(RECORDED), self._settings.record_sound)
        self._update_settings(record_sound=choice)
        self._update_record_sound_action()
        self.notices.show_notice(tr(RECORDED[choice]))

    def _update_record_sound_action(self) -> None:
        text = tr("Sound of recordings: {kind}", kind=tr(self._settings.record_sound, "sound"))
        self.actions_by_key["record_sound"].setText(text)

    def _seek_or_step(self, direction: int) -> None:
        info = self.session.info
        if info is None:
            return
        if info.count > 1:
            self.session.step(direction)
        elif info.duration:
            self.session.seek(self.session.position + direction * SEEK_S)

    def set_view(self, view: str) -> None:
        """Show `view`, one of VIEWS; "compare" also makes the engine compare."""
        if view == "compare" and self.viewport.view != "compare":
            self._view_before = self.viewport.view
        self.queue.hide()
        self._show_view(view)
        self.session.config = replace(self.session.config, compare=view == "compare")

    def _reserve_headroom(self, height: int) -> None:
        """Keep the top of a comparison free of pictures and messages, for the overlay."""
        self.viewport.set_headroom(height)
        self.messages.set_headroom(height + SPACE if height else 0)

    def _show_view(self, view: str) -> None:
        self.viewport.view = view
        self.actions_by_key[f"view_{view}"].setChecked(True)
        self._update_settings(view=view)

    def _toggle_compare(self) -> None:
        comparing = self.viewport.view == "compare"
        self.set_view(self._view_before if comparing else "compare")

    def _store_checked(self, action: str, setting: str) -> None:
        self._update_settings(**{setting: self.actions_by_key[action].isChecked()})
        self._update_visibility()

    def _update_visibility(self) -> None:
        """Show the parts that the settings and full screen allow."""
        full = self.isFullScreen()
        settings = self._settings
        layers = settings.overlay and settings.layers
        for action, on in (
            ("mirror", settings.mirror),
            ("reduce_motion", settings.reduce_motion),
            ("overlay", settings.overlay),
            ("layers", layers),
            ("badge", settings.badge),
            ("advanced", settings.advanced),
            ("gallery", settings.show_gallery),
            ("film_strip", settings.show_strip),
            ("looks", settings.show_looks),
            ("fullscreen", full),
            ("queue", self.queue.shown),
        ):
            self.actions_by_key[action].setChecked(on)
        self.viewport.mirrored = settings.mirror
        self.session.time_layers(layers)
        self.overlay.show_layers(layers)
        self.overlay.setVisible(settings.overlay)
        self.panel.advanced.setVisible(settings.advanced)
        self.badge.set_wanted(settings.badge and not (settings.overlay or full))
        self.gallery.setVisible(settings.show_gallery)
        self.film_strip.set_wanted(settings.show_strip)
        self.looks.strip.setVisible(settings.show_looks)
        self.workspace.show_panel(settings.show_panel, full=full)
        for part in (self.toolbar, self.status):
            part.setVisible(not full)
        self.bottom_bars.setVisible(not (full or self.queue.shown))

    def _toggle_layers(self) -> None:
        """Time every layer, which shows the figures too, or stop."""
        on = self.actions_by_key["layers"].isChecked()
        self._update_settings(layers=on, overlay=on or self._settings.overlay)
        self._update_visibility()

    def _toggle_panel(self) -> None:
        if self.isFullScreen() or not self.workspace.narrow:
            self._update_settings(show_panel=not self._settings.show_panel)
            self._update_visibility()
        elif self.workspace.panel_shown:
            self.workspace.close_drawer()
        else:
            self.workspace.open_drawer()

    def _update_panel_action(self) -> None:
        self.actions_by_key["panel"].setChecked(self.workspace.panel_shown)

    def _toggle_full_screen(self) -> None:
        if self.isFullScreen():
            (self.showMaximized if self._maximized else self.showNormal)()
        else:
            self._maximized = self.isMaximized()
            self.queue.hide()
            self.showFullScreen()
            self.viewport.setFocus()
        self._update_visibility()

    def _back(self) -> None:
        if self.isFullScreen():
            self._toggle_full_screen()
        elif self.styles.trial.key:
            self.styles.trial.stop()
        elif self.questions.isVisible():
            self.questions.dismiss()
            self.viewport.setFocus()
        elif self.job.isVisible() or self.painting.isVisible():
            (self.job if self.job.isVisible() else self.painting).cancel.click()
        elif self.focusWidget() is self.panel.address:
            self.panel.close_address()
        elif isinstance(self.focusWidget(), QLineEdit):
            self.viewport.setFocus()  # where letter keys are shortcuts again
        elif self.workspace.narrow and self.workspace.panel_shown:
            self.workspace.close_drawer()
        elif self.problems.problems:
            self.problems.dismiss()
        elif self.queue.shown and not self.notices.text:
            self.queue.hide()
        else:
            self.notices.dismiss()

    def _next_theme(self) -> None:
        self.theme.choice = _next_in(CHOICES, self.theme.choice)
        self._update_settings(theme=self.theme.choice)
        self._update_theme_action()

    def _toggle_reduce_motion(self) -> None:
        self._store_checked("reduce_motion", "reduce_motion")
        self.theme.reduce_motion = self._settings.reduce_motion

    def _update_theme_action(self) -> None:
        self.actions_by_key["theme"].setText(tr("Theme: {choice}", choice=tr(self.theme.choice)))

    def _show_details(self) -> None:
        if self.viewport.styled is not None:
            self.notices.show_notice(str(self.viewport.styled.running))

    def _show_help(self, page: int) -> None:
        if self._help is None:
            self._help = HelpDialog(self)
        self._help.show_page(page)
        self._help.show()
        self._help.raise_()
        self._help.activateWindow()

    def _ask_address(self) -> None:
        if self.isFullScreen():
            self._toggle_full_screen()
        if not self.workspace.panel_shown:
            self._toggle_panel()
        self.panel.ask_address()

    # Drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Pass the drag to the drop handler."""
        self.drop_handler.enter(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Tell the drop handler that the drag left."""
        self.drop_handler.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        """Pass the drop to the drop handler."""
        self.drop_handler.drop(event)

    # Keys that belong to the focused control

    def event(self, event: QEvent) -> bool:
        """Give the focused control its own keys before they become shortcuts."""
        if is_own_key(event, self):
            event.accept()
            return True
        return super().event(event)

    # Settings

    def _update_settings(self, **changes: Any) -> None:
        self._settings = replace(self._settings, **changes)
        self._save_later.start()

    def _current_settings(self) -> Settings:
        settings = settings_with_config(self._settings, self.session.config)
        spec = self.session.spec
        kept = stored_source(spec)
        if kept and not self.opener.is_pasted(kept):
            settings = replace(settings, source=kept)
        if not self.isFullScreen():
            geometry = bytes(self.saveGeometry().toBase64().data()).decode()
            settings = replace(settings, geometry=geometry)
        self._settings = settings
        return settings

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close unless the user has to confirm; completes a recording and saves the settings."""
        if not (
            self.exporter.may_quit(self.questions, self.close)
            and self.training_launcher.may_quit()
            and self.queue.may_quit()
        ):
            event.ignore()
            return
        self.exporter.finish()
        self.virtual_camera.close()
        self.showing.close()
        self.film_strip.close()
        self.film_exporter.close()
        self.queue.close()
        self._save_later.stop()
        try:
            self._saver.save_now(self._current_settings())
        except OSError as exc:
            self.problems.add(Problem.of(exc, doing="save the settings"))
        if self._help is not None:
            self._help.close()
        self.training_launcher.close()
        event.accept()


def _next_in(choices: tuple[str, ...], current: str) -> str:
    return choices[(choices.index(current) + 1) % len(choices)]
