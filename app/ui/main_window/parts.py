"""The widgets and controllers of the main window, laid out but not yet connected."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QVBoxLayout, QWidget

from app.live.session import Session
from app.settings import Settings
from app.ui import actions
from app.ui.camera.controller import CameraController
from app.ui.controllers.drop_handler import DropHandler
from app.ui.controllers.exporter import Exporter
from app.ui.controllers.full_quality import FullQuality
from app.ui.controllers.gallery_controller import GalleryController
from app.ui.controllers.language_menu import LanguageMenu
from app.ui.controllers.loading_message import LoadingMessage
from app.ui.controllers.remembering import Remembering
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.controllers.style_mixer import StyleMixer
from app.ui.controllers.styles_by_name import StylesByName
from app.ui.file_dialogs import FileDialogs
from app.ui.film.exporter import FilmExporter
from app.ui.film.interrupted import InterruptedExports
from app.ui.film_strip.controller import FilmStripController
from app.ui.film_strip.paint_all.controller import PaintAll
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.incremental_work import IncrementalWork
from app.ui.layouts import fill
from app.ui.looks.combing import CombController
from app.ui.looks.controller import LookController
from app.ui.looks.gestures import Gestures
from app.ui.looks.reset import ResetController
from app.ui.looks.undo import UndoController
from app.ui.main_window.window_settings import WindowSettings
from app.ui.panel.panel import ControlPanel
from app.ui.person.brushing import BrushController
from app.ui.person.controller import PersonController
from app.ui.player.bar import PlaybackBar
from app.ui.player.player import Player
from app.ui.player.recording_light import RecordingLight
from app.ui.queue.controller import QueueController
from app.ui.showing.controller import ShowController
from app.ui.showing.saved_card import SavedCard
from app.ui.showing.saved_files import SavedFiles
from app.ui.speed.badge import SpeedBadge
from app.ui.speed.compiling import CompileWatch
from app.ui.speed.engine_bar import EngineBar
from app.ui.speed_test.controller import SpeedTestController
from app.ui.startup_view import INITIAL_SIZE
from app.ui.support.report_copier import ReportCopier
from app.ui.theme.icons import application_icon
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import SPACE
from app.ui.training.launcher import TrainingLauncher
from app.ui.viewport.stats_overlay import Overlay
from app.ui.viewport.viewport import Viewport
from app.ui.virtual_camera.switch import CameraSwitch
from app.ui.wall.controller import WallController
from app.ui.widgets.floating import BottomCards, CenteredCard
from app.ui.widgets.form_layout import NoWheelSlider
from app.ui.widgets.job_bar import IN_BANDS, IN_FULL_QUALITY, FilmBar, JobBar, SceneBar, ShareBar
from app.ui.widgets.question_card import QuestionCard
from app.ui.widgets.status_bar import StatusBar
from app.ui.widgets.strip_tabs import StripTabs
from app.ui.widgets.toast import Toast
from app.ui.widgets.toasts import NoticeToast, ProblemToast
from app.ui.widgets.toolbar import Toolbar, tool_button
from app.ui.window_context import WindowContext
from app.ui.window_geometry import WindowGeometry
from app.ui.workspace import Workspace
from utils.translation.texts import tr


class WindowParts(QMainWindow):
    """A window with all its parts, which do not follow the session yet.

    `slots` maps the key of each action to its slot, called only once all parts exist.
    `WindowSettings` calls `save_settings`.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        save_settings: Callable[[Settings], None],
        slots: Mapping[str, Callable[[], object]],
    ) -> None:
        super().__init__()
        self.session = session
        self.settings = WindowSettings(
            settings,
            save_settings,
            session,
            lambda spec: self.opener.is_pasted(spec),
            lambda config: self.showing.slideshow.settled(config),
            self,
        )
        self.setWindowTitle("StyleForge")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.resize(*INITIAL_SIZE)
        WindowGeometry(self)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self.theme = Theme(app, self, settings.theme, reduce_motion=settings.reduce_motion)
        self._make_parts(slots)
        self._lay_out()

    def _make_parts(self, slots: Mapping[str, Callable[[], object]]) -> None:
        self.mixer = StyleMixer(self.session)
        self.actions_by_key = actions.build_actions(self, slots)
        self._icons = IncrementalWork(self)
        self.sources_menu = QMenu(self)
        self.styles_menu = QMenu(self)
        self.toolbar = Toolbar(self.actions_by_key, self.sources_menu, self.styles_menu, self)
        self.questions = QuestionCard(self)
        self.problems, self.notices = ProblemToast(self), NoticeToast(self)
        self.saved_card = SavedCard(self)
        self.toast = Toast(self.problems, self.notices, self.saved_card, parent=self)
        self.job, self.film = JobBar(self), FilmBar(self)
        self.painting, self.saving = ShareBar(IN_BANDS, self), ShareBar(IN_FULL_QUALITY, self)
        self.learning = SceneBar(self)
        self.viewport = Viewport(self.session.on_painted, self)
        self.loading_message = LoadingMessage(self.session, self.viewport, self.mixer.label)
        shown = (
            lambda: self.session.metrics.stats(time.perf_counter()),
            lambda: self.viewport.styled,
        )
        self.badge = SpeedBadge(
            *shown,
            lambda: self.session.of_pictures,
            self.actions_by_key["overlay"],
            self.viewport,
        )
        self.overlay = Overlay(*shown, self.viewport.set_headroom, self.viewport)
        self.overlay.move(QPoint(2 * SPACE, 2 * SPACE))
        self.playback_bar = PlaybackBar(self.actions_by_key, self)
        adding = [self.actions_by_key[key] for key in ("style_picture", "install_style")]
        buttons = [tool_button(action, self, words=True) for action in adding]
        self.gallery = StyleGallery(self.session.run, buttons, self)
        self.panel = ControlPanel(self.session, self.actions_by_key, self)
        self.panel.fold(self.settings.value.folded_groups.split())
        self.panel.folds_changed.connect(
            lambda: self.settings.update(folded_groups="\n".join(self.panel.folded))
        )
        self.engine_bar = EngineBar(self.session, self)
        found = self.engine_bar.lists.fast_found
        found.connect(self.panel.speed_control.set_fast_precision)
        self.status = StatusBar(tool_button(self.actions_by_key["details"], self, words=True), self)
        CompileWatch(
            lambda: shown[0]().displayed_fps,
            self.status.show_progress,
            self.notices.show_notice,
            self,
        )
        self.file_dialogs = FileDialogs(self.settings.get, self.settings.update, self.session.run)
        context = WindowContext(
            self,
            self.session,
            self.viewport,
            self.actions_by_key,
            self.settings.get,
            self.settings.update,
            self.file_dialogs,
            self.questions,
            self.notices,
        )
        self._make_controllers(context)

    def _make_controllers(self, context: WindowContext) -> None:
        self.opener = SourceOpener(context, self.panel, self.sources_menu)
        self.installer = StyleInstaller(context)
        self.queue = QueueController(context, self.mixer.label, self.theme)
        self.drop_handler = DropHandler(context, self.opener, self.installer, self.queue.ask_add)
        saved = SavedFiles(context, self.saved_card)
        self.full_quality = FullQuality(self.session, context.say, saved.tell_picture, self)
        self.exporter = Exporter(context, self._show_recording, saved.tell, self.full_quality)
        self.recording_light = RecordingLight(lambda: self.exporter.recorded, self.viewport)
        self.virtual_camera = CameraSwitch(context, self.status.show_camera)
        self.film_exporter = FilmExporter(context, saved.tell, lambda: self.player.part)
        self.interrupted_exports = InterruptedExports(context, self.film_exporter)
        self.training_launcher = TrainingLauncher(context)
        self.styles = GalleryController(
            context,
            self.gallery,
            self.mixer,
            self.installer,
            self.opener,
            self.training_launcher.open,
        )
        self.styles_by_name = StylesByName(
            self.session, self.gallery, self.styles_menu, self.mixer.choose_style
        )
        self.loading_message.preview = self.styles.previews.whole
        self.player = Player(context, self.playback_bar)
        self.looks = LookController(context)
        self.drop_handler.open_spec = self.looks.open_dropped
        self.reset = ResetController(self.session, self.panel, self.engine_bar)
        sliders = self.panel.findChildren(NoWheelSlider)
        gestures = Gestures((*sliders, self.panel.wheel, self.panel.speed.slider), self)
        self.undo = UndoController(context, gestures)
        self.combing = CombController(self.session, self.panel, self.viewport.comb, gestures)
        arranging = self.styles.arranging
        self.wall = WallController(context, self.theme, self.gallery, lambda: arranging.styles)
        asked = self.wall.sources
        self.remembering = Remembering(
            context,
            self.opener.is_pasted,
            lambda: asked.asked,
            lambda: self.wall.shown or self.viewport.view == "compare",
        )
        self.film_strip = FilmStripController(self.session, self, self.actions_by_key["paint_all"])
        self.paint_all = PaintAll(
            context,
            self.queue,
            lambda: arranging.styles,
            self.mixer.label,
            self.styles.previews.whole,
        )
        self.camera = CameraController(context)
        self.brushing = BrushController(context, gestures)
        self.brushing.toggled.connect(self.combing.suspend)
        self.person = PersonController(context, self.learning, self.brushing, gestures)
        self.person.source_left.connect(self.undo.forget_source)
        self.showing = ShowController(context, saved, self.full_quality)
        self.showing.projected.connect(lambda shown: self.status.show_projector(shown=shown))
        self.speed_test = SpeedTestController(context, self.theme, saved.tell)
        self.report_copier = ReportCopier(context, self.settings.save, self.problems.add)
        self.languages = LanguageMenu(context)

    def _lay_out(self) -> None:
        self.bottom_bars = QWidget(self)
        strips = {
            "gallery": (tr("Styles"), self.gallery),
            "film_strip": (tr("Pictures"), self.film_strip.strip),
            "looks": (tr("Looks"), self.looks.strip),
        }
        self.strips = StripTabs(strips, self.bottom_bars)
        self.film_strip.wanted_changed.connect(partial(self.strips.set_wanted, "film_strip"))
        below = self.speed_test.sheet, self.engine_bar, self.playback_bar, self.strips
        fill(QVBoxLayout(self.bottom_bars), *below, margins=(0, 0, 0, 0), spacing=0)
        self.quick_bars = self.job, self.painting, self.saving, self.learning
        toasts = self.problems, self.notices, self.saved_card
        cards = *toasts, *self.quick_bars, self.film
        self.cards = BottomCards(*cards, parent=self)
        asking = CenteredCard(self.questions, self)
        self.workspace = Workspace(
            self.toolbar,
            self.queue.pages,
            self.bottom_bars,
            self.panel,
            self.status,
            (self.cards, asking),
            self,
        )
        self.setCentralWidget(self.workspace)
        shown = self.toolbar, self.viewport, *cards, self.questions
        for part in (*shown, self.bottom_bars, self.panel, self.status):
            self.theme.add_widget(part)

    def _show_recording(self, on: bool) -> None:
        self.actions_by_key["record"].setChecked(on)
        self.recording_light.setVisible(on)
