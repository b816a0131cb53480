"""All shortcuts, and questions with answers, in a window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QFont, QKeyEvent, QKeySequence, QTextBlock, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTabWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from app.diagnostics.questions import TITLE, Question, as_markdown
from app.ui.actions import ACTIONS, GROUPS, STYLE_KEYS, ActionEntry
from app.ui.controllers.drop_parser import DROPPABLE
from app.ui.layouts import described, fill
from app.ui.palette.search import Index
from app.ui.queue.actions import GROUP, QUEUE_ACTIONS
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import mark, tr

KEYS, ANSWERS = range(2)
_SCROLLING = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)

_ENTRIES = (*ACTIONS, *QUEUE_ACTIONS)
_COLUMNS = ((*GROUPS[:4], GROUP), GROUPS[4:])
NOTES = (
    (
        mark("Split view"),
        mark("Drag the divider, or focus the picture (Tab) and use Left and Right."),
    ),
    (mark("Drop and paste"), mark("{droppable} can be dropped or pasted anywhere on the window.")),
    (
        mark("Style of a picture"),
        mark("Drop any picture on the styles, or paste it with the focus there."),
    ),
    (
        mark("Several files"),
        mark("Drop several files to queue them; pictures can also open as a strip."),
    ),
    (
        mark("Queue"),
        mark("Its keys work while the queue is shown. Drag entries to change their order."),
    ),
    (
        mark("Privacy"),
        mark("Nothing is sent from this machine. Pictures are saved only on request."),
    ),
)


def shortcut_text(entry: ActionEntry) -> str:
    """Return the shortcuts of an action in native notation."""
    native = QKeySequence.SequenceFormat.NativeText
    return tr("  or  ").join(QKeySequence(key).toString(native) for key in entry.keys)


def rows(group: str) -> list[tuple[str, str]]:
    """Return (shortcuts, description) per action of a group; the number keys share one row."""
    made = [
        (shortcut_text(entry), tr(entry.tip))
        for entry in _ENTRIES
        if entry.group == group and not entry.key.startswith("style_")
    ]
    if group == "Style":
        made.insert(0, (f"1 - {STYLE_KEYS}", tr("Choose a style of the gallery by its number")))
    return made


class HelpDialog(ModelessDialog):
    """A modeless dialog generated from the tables of actions and questions."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: keys and help"), parent)
        self._sections: list[tuple[QLabel, list[tuple[QLabel, QLabel]]]] = []
        self.search = described(
            QLineEdit(self), tr("Search the help"), tr("Show what has these words, as you type")
        )
        self.search.setPlaceholderText(tr("Search the help"))
        self.search.textChanged.connect(self._show_found)
        self.search.installEventFilter(self)
        content = QWidget()
        fill(
            QHBoxLayout(content),
            *((self._column(groups, notes=groups is _COLUMNS[-1]), 1) for groups in _COLUMNS),
            margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE),
            spacing=5 * SPACE,
        )
        scroll = described(QScrollArea(), tr("Keys"), tr("All keys; scroll with the arrow keys"))
        scroll.setWidget(content)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        answers = self.answers = QTextBrowser()
        answers.setFrameShape(QTextBrowser.Shape.NoFrame)
        answers.document().setDocumentMargin(2 * SPACE)
        answers.setAccessibleName(tr(TITLE))
        answers.setToolTip(tr("{title}; scroll with the arrow keys", title=tr(TITLE)))
        self.pages = QTabWidget(self)
        self.pages.addTab(scroll, tr("&Keys"))
        self.pages.addTab(answers, tr("&Questions and answers"))
        self.pages.setDocumentMode(True)
        self.pages.setAccessibleName(tr("Help"))
        described(self.pages.tabBar(), tr("Pages"), tr("Keys, and questions with answers"))
        close = self.close_button(tr("&Close"), on_enter=True)
        top = fill(
            QVBoxLayout(), self.search, margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, SPACE // 2)
        )
        whole = QWidget()
        fill(QVBoxLayout(whole), top, (self.pages, 1), margins=(0, 0, 0, 0), spacing=0)
        lay_out_dialog(self, whole, close, side=3 * SPACE)
        self._show_found("")
        self.resize(1040, min(780, content.sizeHint().height() + 8 * SPACE))
        WindowGeometry(self)

    def _show_found(self, words: str) -> None:
        """Show the keys and answers with all `words`, and the headings above them."""
        for heading, lines in self._sections:
            title = heading.text()
            texts = [(text.text(), f"{keys.text()} {title}") for keys, text in lines]
            found = {row for row, _ in Index(texts).places(words)}
            for row, line in enumerate(lines):
                for label in line:
                    label.setVisible(row in found)
            heading.setVisible(bool(found))
        self.answers.setMarkdown(as_markdown(tr, lambda each: _has(each, words)))
        _space_questions(self.answers.document())

    def show_page(self, page: int) -> None:
        self.pages.setCurrentIndex(page)
        self.search.setFocus()
        self.search.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the keys of a page scroll it while the search has the focus; Enter does nothing."""
        if watched is not self.search or event.type() != QEvent.Type.KeyPress:
            return False
        assert isinstance(event, QKeyEvent)
        page = self.pages.currentWidget()
        if event.key() in _SCROLLING and page is not None:
            QApplication.sendEvent(page, event)
            return True
        return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)

    def show_question(self, asks: str) -> None:
        """Scroll the answers to the translated question `asks`, and select it."""
        self.search.clear()
        found = self.answers.document().find(asks)
        self.answers.setTextCursor(found)

        def scroll() -> None:
            place = self.answers.document().documentLayout().blockBoundingRect(found.block())
            self.answers.verticalScrollBar().setValue(round(place.top()) - SPACE)

        QTimer.singleShot(0, self.answers, scroll)  # a new dialog is laid out before

    def _column(self, groups: tuple[str, ...], *, notes: bool) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(SPACE // 2)
        grid.setColumnStretch(1, 1)
        for group in groups:
            self._heading(grid, tr(group))
            for keys, text in rows(group):
                self._row(grid, keys, text, "key")
        if notes:
            self._heading(grid, tr("Good to know"))
            for title, text in NOTES:
                self._row(grid, tr(title), tr(text, droppable=tr(DROPPABLE)), "muted")
        grid.setRowStretch(grid.rowCount(), 1)
        return grid

    def _heading(self, grid: QGridLayout, text: str) -> None:
        label = QLabel(text)
        label.setProperty("role", "title")
        label.setContentsMargins(0, SPACE, 0, 0)
        grid.addWidget(label, grid.rowCount(), 0, 1, 2)
        self._sections.append((label, []))

    def _row(self, grid: QGridLayout, left: str, right: str, role: str) -> None:
        row = grid.rowCount()
        head, text = QLabel(left), QLabel(right)
        head.setProperty("role", role)
        text.setWordWrap(True)
        grid.addWidget(head, row, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(text, row, 1)
        self._sections[-1][1].append((head, text))


def _has(question: Question, words: str) -> bool:
    """Return whether a question and its answer have all words."""
    return bool(Index([(tr(question.asks), tr(question.answer))]).places(words))


def _space_questions(document: QTextDocument) -> None:
    """Place each question closer to its answer than to the previous answer."""
    block = document.begin()
    while block.isValid():
        form = block.blockFormat()
        form.setTopMargin(2 * SPACE if _is_bold(block) else 0)
        form.setBottomMargin(SPACE // 2)
        QTextCursor(block).setBlockFormat(form)
        block = block.next()


def _is_bold(block: QTextBlock) -> bool:
    start = block.begin()
    weight = 0 if start.atEnd() else start.fragment().charFormat().fontWeight()
    return weight >= QFont.Weight.Bold
