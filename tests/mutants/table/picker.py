"""Mutants of the file picker."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PICKER = "tests/app/ui/window/test_picker.py"
_FILES = "tests/app/ui/window/test_files.py"


MUTANTS = (
    Mutant(
        "a new folder may be made elsewhere",
        "app/ui/picker/new_folder.py",
        'if device or name in ("", ".", "..") or any(letter in _NOT_IN_NAMES for letter in name):',
        'if device or name in ("", ".", ".."):',
        (f"{_PICKER}::test_a_name_that_no_folder_can_have_is_refused_in_a_sentence",),
    ),
    Mutant(
        "Enter in the name of a new folder takes the folder above",
        "app/ui/picker/new_folder.py",
        "            self._enter()\n",
        "            super().keyPressEvent(event)\n",
        (f"{_PICKER}::test_a_new_folder_is_made_shown_and_chosen",),
    ),
    Mutant(
        "every thumbnail of a folder is read",
        "app/ui/picker/tiles.py",
        "        return self._entries.entries[top * columns : (bottom + 1) * columns]\n",
        "        return self._entries.entries\n",
        (f"{_PICKER}::test_of_many_files_only_the_visible_ones_are_read",),
    ),
    Mutant(
        "a closed picker shows the folder that it was reading",
        "app/ui/picker/dialog.py",
        '        """Stop reading, and close."""\n        self._reads += 1\n',
        '        """Stop reading, and close."""\n',
        (f"{_PICKER}::test_a_closed_dialog_reads_no_more",),
    ),
    Mutant(
        "a drop on the picker moves the file",
        "app/ui/picker/given.py",
        "copy if event.possibleActions() & copy else nothing",
        "Qt.DropAction.MoveAction",
        (f"{_PICKER}::test_a_drop_goes_there_and_takes_nothing_away",),
    ),
    Mutant(
        "a name with tags is a tip with tags",
        "app/ui/picker/model.py",
        'return shown if "<" not in shown else',
        "return shown if shown else",
        (f"{_PICKER}::test_tags_in_a_name_are_shown_in_its_tip",),
    ),
    Mutant(
        "recent files stay in the settings without the last source",
        "app/ui/main_window/window_settings.py",
        '   settings = replace(settings, source="", palette_recent="", recent_files="")',
        '   settings = replace(settings, source="", palette_recent="")',
        (f"{_PICKER}::test_what_was_opened_is_recent_unless_sources_are_forgotten",),
    ),
    Mutant(
        "the picker is used where the system has dialogs",
        "app/ui/file_dialogs.py",
        "if made is None and self.of_the_system:",
        "if made is None and not kind:",
        (f"{_FILES}::test_where_the_system_has_dialogs_they_are_used",),
    ),
)
