"""Mutants of the languages of the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TEXTS = "tests/app/translation/test_texts.py"
_START = "tests/app/ui/languages/test_start.py"
_TOOL = "tests/tools/test_translations.py"
_NUMBERS = "tests/app/translation/test_numbers.py"
_WINDOW = "tests/app/ui/window/test_languages.py"
_STUDIO = "tests/app/training/test_languages.py"

MUTANTS = (
    Mutant(
        "what is not translated yet is shown empty",
        "app/translation/texts.py",
        "translation if isinstance(translation, str) and translation else text",
        "translation if isinstance(translation, str) else text",
        (f"{_TEXTS}::test_what_is_not_translated_yet_stays_english",),
    ),
    Mutant(
        "French counts zero things in the plural",
        "app/translation/languages.py",
        "if number in (0, 1)",
        "if number == 1",
        (f"{_TEXTS}::test_a_number_has_the_form_that_its_language_gives_it",),
    ),
    Mutant(
        "an error stays English",
        "app/errors.py",
        "doing=tr(doing), error=exc)",
        "doing=doing, error=exc)",
        (f"{_TEXTS}::test_an_error_says_in_the_language_what_failed_and_what_to_do",),
    ),
    Mutant(
        "traditional Chinese is taken for simplified",
        "app/ui/languages/start.py",
        "if (asked.language(), asked.script()) == (ours.language(), ours.script()):",
        "if asked.language() == ours.language():",
        (f"{_START}::test_the_best_language_of_the_system_that_there_is_counts",),
    ),
    Mutant(
        "a window is never turned for writing from right to left",
        "app/ui/languages/start.py",
        "app.setLayoutDirection(QLocale(language).textDirection())",
        'app.setLayoutDirection(QLocale("en").textDirection())',
        (f"{_START}::test_a_language_that_is_written_from_right_to_left_turns_the_window",),
    ),
    Mutant(
        "the studio writes numbers as in English",
        "app/ui/training/formatting.py",
        '"step": number(progress.iteration)',
        '"step": f"{progress.iteration:,}"',
        (f"{_STUDIO}::test_progress_is_said_in_german_with_german_numbers",),
    ),
    Mutant(
        "the studio is in English whatever the language",
        "app/ui/training/formatting.py",
        "return tr(state.doing)",
        "return state.doing",
        (f"{_STUDIO}::test_progress_is_said_in_german_with_german_numbers",),
    ),
    Mutant(
        "the overlay names what limits a stream by its key",
        "app/ui/viewport/stats_rows.py",
        'part = tr(_PARTS[bottleneck.part], "bottleneck")',
        "part = bottleneck.part",
        (
            "tests/app/ui/speed/test_words.py::"
            "test_the_figures_say_in_plain_words_what_slows_a_stream_down",
        ),
    ),
    Mutant(
        "Qt's own texts of the language before stay",
        "app/ui/languages/start.py",
        "app.removeTranslator(before)",
        "pass",
        (f"{_START}::test_a_chosen_language_gives_texts_numbers_and_standard_buttons",),
    ),
    Mutant(
        "the chosen language is not kept",
        "app/ui/languages/menu.py",
        "self._update(language=key)",
        "pass",
        (
            "tests/app/ui/window/test_languages.py::"
            "test_a_chosen_language_is_kept_and_said_to_need_another_start",
        ),
    ),
    Mutant(
        "a bare f-string is taken for no text",
        "tools/bare_texts.py",
        "if isinstance(node, ast.Constant | ast.JoinedStr):\n        words",
        "if isinstance(node, ast.Constant):\n        words",
        (f"{_TOOL}::test_a_bare_text_is_found",),
    ),
    Mutant(
        "a translation without its placeholder is accepted",
        "tools/translations.py",
        '"placeholders": placeholders,',
        '"placeholders": lambda text: "",',
        (f"{_TOOL}::test_a_translation_that_does_not_suit_its_text_is_told",),
    ),
    Mutant(
        "an update forgets what is translated",
        "tools/translations.py",
        "key: known.get(key) or (forms",
        "key: (forms",
        (f"{_TOOL}::test_an_update_keeps_translations_and_takes_out_what_is_gone",),
    ),
    Mutant(
        "numbers stay English",
        "app/ui/languages/start.py",
        "    numbers.use(number)\n",
        "",
        (f"{_WINDOW}::test_numbers_have_a_decimal_comma_in_german",),
    ),
    Mutant(
        "a large number that is rounded has an exponent",
        "app/translation/numbers.py",
        '0 if "e" in text else len(text.partition(".")[2])',
        'len(text.partition(".")[2])',
        (f"{_NUMBERS}::test_a_large_number_is_written_out",),
    ),
    Mutant(
        "the last of several things is not set apart",
        "app/translation/lists.py",
        "    if len(words) < 2:\n",
        "    if len(words) != 2:\n",
        (f"{_NUMBERS}::test_things_are_listed_in_one_sentence",),
    ),
    Mutant(
        "kinds of files in dialogs stay English",
        "app/ui/file_dialogs.py",
        'return f"{tr(title)} (',
        'return f"{title} (',
        (f"{_WINDOW}::test_a_dialog_names_kinds_of_files_in_german",),
    ),
    Mutant(
        "the engine writes rates in English",
        "app/engine/network_selector.py",
        "number(fps, 1)",
        'f"{fps:.1f}"',
        (f"{_WINDOW}::test_what_the_engine_says_of_its_choice_is_german",),
    ),
    Mutant(
        "a module of the window is left out of the search for texts",
        "tests/tools/test_translations.py",
        "    left_out = {*NOT_CONVERTED, *APART}\n",
        '    left_out = {*NOT_CONVERTED, *APART, "camera"}\n',
        (f"{_TOOL}::test_no_module_of_the_window_is_left_out",),
    ),
)
