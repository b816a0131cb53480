"""Mutants of the command palette, the toolbar and the menus."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SEARCH = "tests/app/ui/palette/test_search.py"
_MENUS = "tests/app/ui/window/test_menus.py"
_WINDOW = "tests/app/ui/window/test_palette.py"


MUTANTS = (
    Mutant(
        "the words of other programs find nothing",
        "app/ui/palette/finding.py",
        "{tr(row.words)} {_native(action.shortcut())}",
        "{_native(action.shortcut())}",
        (f"{_WINDOW}::test_the_words_of_other_programs_find_the_action",),
    ),
    Mutant(
        "texts come before titles",
        "app/ui/palette/search.py",
        "return place, age, not index.starts(row, query), row",
        "return -place, age, not index.starts(row, query), row",
        (f"{_SEARCH}::test_titles_that_begin_come_first_then_words_then_parts_then_texts",),
    ),
    Mutant(
        "what was used recently is forgotten",
        "app/ui/palette/search.py",
        "return place, age, not index.starts(row, query), row",
        "return place, 0, not index.starts(row, query), row",
        (f"{_SEARCH}::test_the_recently_used_come_first_among_equals",),
    ),
    Mutant(
        "one word is enough",
        "app/ui/palette/search.py",
        "if len(known) == len(words):",
        "if known or not words:",
        (f"{_SEARCH}::test_all_words_are_needed_in_any_order",),
    ),
    Mutant(
        "a menu has as many entries as there are styles",
        "app/ui/widgets/main_menu.py",
        "    if len(actions) <= MOST:\n",
        "    if actions:\n",
        (f"{_MENUS}::test_many_styles_are_in_menus_of_twelve",),
    ),
    Mutant(
        "commands of a section are in the menu of their group",
        "app/ui/widgets/main_menu.py",
        "sections.get(entry.section, inner)",
        "inner",
        (f"{_MENUS}::test_no_menu_has_more_than_twelve_entries",),
    ),
    Mutant(
        "a setting below the fold is not shown",
        "app/ui/main_window/palette_opener.py",
        "            unfold.trigger()\n",
        "            pass\n",
        (f"{_WINDOW}::test_a_setting_is_shown_and_focused",),
    ),
)
