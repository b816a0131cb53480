"""Random actions on the window, by keys, mouse and system."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.errors import Problem
from app.live.session import Session
from app.styles.catalog import Catalog
from app.ui.main_window import MainWindow
from app.ui.widgets.end_stop import EndStopSlider
from app.ui.widgets.parameter_controls import CheckControl, FractionControl, ListControl
from models.families.keys import ANY_STYLE
from tests.helpers.file_dialogs import open_dialogs
from tests.stress.sample_files import Files

LARGEST = 384  # long side of the network's input; on a CPU, more can take minutes per frame
# Actions left to the end of a run, or ones that repeat another through the system's own dialog.
NOT_PRESSED = {
    "quit", "remove_style", "install_style", "train", "help", "menu", "sources", "paste",
    "style_picture", "paste_style", "export_style", "train_picture",
    "virtual_camera", "camera_settings",
}  # fmt: skip


class WindowActions:
    """All possible actions on `window` with their weights, chosen by `chance`."""

    def __init__(
        self,
        chance: random.Random,
        files: Files,
        catalog: Catalog,
        session: Session,
        window: MainWindow,
    ) -> None:
        self._chance, self._files = chance, files
        self.catalog, self.session, self.window = catalog, session, window

    def table(self) -> dict[str, tuple[float, Callable[[], object]]]:
        """Return the weight and the function of each action."""
        return {
            "press a key": (10, self._press),
            "open a file": (5, lambda: self.session.open(str(self._any(self._files.every)))),
            "open the scene": (2, lambda: self.session.open("scene")),
            "drop files": (3, self._drop),
            "paste": (2, self._paste),
            "choose a style": (8, self._choose_style),
            "mix": (4, self._mix),
            "move a slider": (6, self._slide),
            "choose the detail": (1, self._choose_detail),
            "choose in the panel": (6, self._choose),
            "open a list": (2, self._open_list),
            "tick a box": (2, self._tick),
            "change the view": (5, self._change_view),
            "drag the divider": (3, self._drag),
            "seek": (8, self._seek),
            "pause": (3, self._act("pause")),
            "resize": (8, self._resize),
            "full screen": (2, self._act("fullscreen")),
            "show or hide": (
                4,
                lambda: self._act(self._any(["overlay", "layers", "gallery", "panel"]))(),
            ),
            "show a problem": (4, self._show_problem),
            "show a notice": (4, self._show_notice),
            "dismiss": (8, self._dismiss),
            "theme": (2, self._act("theme")),
            "save the settings": (2, lambda: self.window.settings.save_soon(0)),
            "install a style": (1, self._install),
            "make a style of a picture": (2, self._make_style),
            "rename a style": (1, self._rename),
            "turn the wheel": (3, self._turn_wheel),
            "remove a style": (1, self._remove),
            "studio": (1, self._studio),
            "help": (1, self._help),
            "menu": (2, self._menu),
            "file dialog": (1, lambda: self._act(self._any(["open", "open_folder", "save"]))()),
            "snapshot": (2, self._act("snapshot")),
            "copy": (1, self._act("copy")),
            "record": (2, self._act("record")),
            "close what is open": (4, self.close_others),
        }

    def _any(self, values: Sequence):
        return self._chance.choice(values)

    def _act(self, key: str) -> Callable[[], None]:
        return lambda: self.window.actions_by_key[key].trigger()

    def _press(self) -> None:
        actions = self.window.actions_by_key
        key = self._any([key for key in actions if key not in NOT_PRESSED])
        self.window.viewport.setFocus()
        QTest.keySequence(self.window, actions[key].shortcut())

    def _drop(self) -> None:
        data = QMimeData()
        several = self._chance.sample(self._files.pictures, 2)
        one = [self._any([*self._files.every, self._files.weights, self._files.no_weights])]
        paths = self._any([several, one])
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        place = QPointF(self.window.viewport.rect().center())
        buttons = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        self.window.dropEvent(QDropEvent(place, Qt.DropAction.CopyAction, data, *buttons))

    def _paste(self) -> None:
        clipboard = QGuiApplication.clipboard()
        what = self._any(["text", "path", "picture"])
        if what == "picture":
            image = QImage(320, 240, QImage.Format.Format_RGB32)
            image.fill(Qt.GlobalColor.darkCyan)
            clipboard.setImage(image)
        else:
            path = str(self._any(self._files.every))
            clipboard.setText(path if what == "path" else "nothing to open")
        self._act("paste")()

    def _choose_style(self) -> None:
        view = self.window.gallery.view
        if view.isVisible():
            self._click_style(Qt.KeyboardModifier.NoModifier)
        else:
            self._act(self._any(["next_style", "previous_style", "style_2", "style_5"]))()

    def _mix(self) -> None:
        if self.window.gallery.view.isVisible():
            self._click_style(Qt.KeyboardModifier.ShiftModifier)
        else:
            self._act(self._any(["mix", "mix_next"]))()

    def _click_style(self, modifier: Qt.KeyboardModifier) -> None:
        gallery = self.window.gallery
        row = self._chance.randrange(gallery.model.rowCount())
        place = gallery.view.visualRect(gallery.model.index(row)).center()
        QTest.mouseClick(gallery.view.viewport(), Qt.MouseButton.LeftButton, modifier, place)

    def _slide(self) -> None:
        panel = self.window.panel
        kinds = FractionControl, EndStopSlider
        slider = self._any([c for c in panel.controls.values() if isinstance(c, kinds)])
        slider.setValue(self._chance.randint(slider.minimum(), slider.maximum()))

    def _choose_detail(self) -> None:
        detail = self.window.panel.detail
        small = [n for n, size in enumerate(detail.values) if size is None or size <= LARGEST]
        detail.setValue(self._any(small) - 1)

    def _choose(self) -> None:
        panel = self.window.panel
        box = self._any(
            [
                panel.mix,
                *self._lists(),
                self.window.engine_bar.lists.precision,
                self.window.engine_bar.lists.kernels,
            ]
        )
        rows = range(box.count())
        row = self._any(rows)
        box.setCurrentIndex(row)
        box.activated.emit(row)

    def _open_list(self) -> None:
        panel = self.window.panel
        lists = self.window.engine_bar.lists
        fixed = panel.sources.list, panel.mix, lists.precision, lists.kernels
        box = self._any([*fixed, *self._lists()])
        if box.isVisible():
            box.showPopup()

    def _tick(self) -> None:
        controls = self.window.panel.controls.values()
        self._any([c for c in controls if isinstance(c, CheckControl)]).click()

    def _lists(self) -> list[ListControl]:
        window = self.window
        controls = [*window.panel.controls.values(), *window.engine_bar.controls.values()]
        return [c for c in controls if isinstance(c, ListControl)]

    def _change_view(self) -> None:
        self._act(self._any(["view_styled", "view_split", "view_compare", "cycle_view"]))()

    def _drag(self) -> None:
        viewport = self.window.viewport
        self.window.views.choose("split")
        for _ in range(3):
            x = self._chance.randrange(viewport.width())
            place = QPoint(x, viewport.height() // 2)
            QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=place)
            QTest.mouseMove(viewport, place + QPoint(20, 0))
            QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place)

    def _seek(self) -> None:
        slider = self.window.playback_bar.slider
        if not slider.isVisible() or self._chance.random() < 0.3:
            self._act(self._any(["previous", "next"]))()
            return
        for _ in range(self._chance.randint(1, 4)):
            slider.setValue(self._chance.randint(0, slider.maximum()))

    def _resize(self) -> None:
        self.window.resize(self._chance.randint(700, 1600), self._chance.randint(480, 1000))

    def _show_problem(self) -> None:
        number = self._chance.randrange(1000)
        words = self._any(["Something is wrong. ", "A long sentence on what went wrong. " * 20])
        self.session.problem.emit(Problem(f"{number}: {words}", "details\n" * 50))

    def _show_notice(self) -> None:
        emit = self._any([self.session.notice.emit, self.session.source_status.emit])
        emit(self._any(["A notice", "Something to know, at length. " * 10, "/a/long/path" * 30]))

    def _dismiss(self) -> None:
        bar = self._any([self.window.problems, self.window.notices, self.window.questions, None])
        if bar is None:
            self._act("back")()
        else:
            bar.dismiss()

    def _install(self) -> None:
        weights = self._any([self._files.weights, self._files.weights, self._files.no_weights])
        self.window.installer.ask_install(weights)
        self._answer()

    def _make_style(self) -> None:
        if self._chance.random() < 0.3:
            self._act("style_1")()
        place = QPointF(self.window.gallery.rect().center())
        data = QMimeData()
        picture = self._any([*self._files.pictures, *self._files.broken, self._files.strip])
        data.setUrls([QUrl.fromLocalFile(str(picture))])
        buttons = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        drop = QDropEvent(place, Qt.DropAction.CopyAction, data, *buttons)
        QApplication.sendEvent(self.window.gallery, drop)

    def _rename(self) -> None:
        self._act("rename_style")()
        questions = self.window.questions
        if questions.field.isVisible():
            questions.field.setText(self._any(["Candy", "Red Sea", "", "Grün & Blau"]))
        self._answer()

    def _turn_wheel(self) -> None:
        wheel, styles = self.window.panel.wheel, self.catalog.styles
        own = [style.key for style in styles if style.family == ANY_STYLE]
        if own:
            self.window.mixer.choose_style(self._any(own))
            self.window.mixer.toggle_mix(self._any(own))
        if wheel.isVisible():
            x, y = self._chance.random() * wheel.width(), self._chance.random() * wheel.height()
            QTest.mouseClick(wheel, Qt.MouseButton.LeftButton, pos=QPoint(int(x), int(y)))
            QTest.keyClick(wheel, self._any([Qt.Key.Key_Up, Qt.Key.Key_Left, Qt.Key.Key_Home]))

    def _remove(self) -> None:
        own = [style.key for style in self.catalog.styles if not style.builtin]
        if own:
            self.session.config = self.session.config.mixed([(self._any(own), 1.0)])
        self._act("remove_style")()
        self._answer()

    def _answer(self) -> None:
        questions = self.window.questions
        if questions.isVisible():
            self._any([questions.accept, questions.accept, questions.cancel]).click()

    def _studio(self) -> None:
        launcher = self.window.training_launcher
        if launcher.window is not None and launcher.window.isVisible():
            form = launcher.window.form
            what = self._any(["close", "picture", "photographs"])
            if what == "close":
                launcher.close()
            elif what == "picture":
                form.set_picture(self._any([*self._files.pictures, *self._files.broken]))
            else:
                form.set_folder(self._files.strip)
        else:
            self._act("train")()

    def _help(self) -> None:
        shown = self.window.commands.help
        if shown is not None and shown.isVisible():
            shown.close()
        else:
            self._act("help")()

    def _menu(self) -> None:
        if QApplication.activePopupWidget() is None:
            self._act(self._any(["menu", "sources"]))()

    def close_others(self) -> None:
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        for dialog in open_dialogs(self.window):
            dialog.reject()
