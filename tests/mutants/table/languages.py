"""Mutants of the languages of the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TEXTS = "tests/utils/translation/test_texts.py"
_START = "tests/app/ui/languages/test_start.py"
_FONTS = "tests/app/ui/languages/test_fonts.py"
_WINDOW = "tests/app/ui/window/test_languages.py"
_TURNED = "tests/app/ui/window/test_right_to_left.py"
_REOPENED = "tests/app/ui/window/test_reopening.py"
_TOOL = "tests/tools/test_translations.py"
_NUMBERS = "tests/utils/translation/test_numbers.py"
_WINDOW = "tests/app/ui/window/test_languages.py"
_STUDIO = "tests/app/training/test_languages.py"

MUTANTS = (
    Mutant(
        "what is not translated yet is shown empty",
        "utils/translation/texts.py",
        "translation if isinstance(translation, str) and translation else text",
        "translation if isinstance(translation, str) else text",
        (f"{_TEXTS}::test_what_is_not_translated_yet_stays_english",),
    ),
    Mutant(
        "French counts zero things in the plural",
        "utils/translation/languages.py",
        "if number in (0, 1)",
        "if number == 1",
        (f"{_TEXTS}::test_a_number_has_the_form_that_its_language_gives_it",),
    ),
    Mutant(
        "an error stays English",
        "app/errors.py",
        "labeled(tr(failure), str(exc))",
        "labeled(failure, str(exc))",
        (f"{_TEXTS}::test_an_error_says_in_the_language_what_failed_and_what_to_do",),
    ),
    Mutant(
        "traditional Chinese is taken for simplified",
        "app/ui/languages.py",
        "if (asked.language(), asked.script()) == (ours.language(), ours.script()):",
        "if asked.language() == ours.language():",
        (f"{_START}::test_the_best_language_of_the_system_that_there_is_counts",),
    ),
    Mutant(
        "a window is never turned for writing from right to left",
        "app/ui/languages.py",
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
        "app/ui/languages.py",
        "app.removeTranslator(before)",
        "pass",
        (f"{_START}::test_a_chosen_language_gives_texts_numbers_and_standard_buttons",),
    ),
    Mutant(
        "a key in parentheses is read aloud",
        "utils/translation/mnemonics.py",
        '_IN_PARENTHESES.sub("", label)',
        "label",
        ("tests/utils/translation/test_mnemonics.py::test_a_name_has_no_mark_of_a_key",),
    ),
    Mutant(
        "an empty text leaves a sign behind",
        "utils/translation/joints.py",
        "_signs().stop.join(filter(None, texts))",
        "_signs().stop.join(texts)",
        ("tests/utils/translation/test_joints.py::test_what_is_empty_leaves_no_sign_behind",),
    ),
    Mutant(
        "fonts of the language come behind those of the system",
        "app/ui/languages.py",
        "[*own, *(name for name in before if name not in own)]",
        "[*before, *(name for name in own if name not in before)]",
        (f"{_FONTS}::test_japanese_and_chinese_ask_for_their_own_forms_first",),
    ),
    Mutant(
        "fonts are asked for that are not there",
        "app/ui/languages.py",
        " if QFontDatabase.hasFamily(name)",
        "",
        (f"{_FONTS}::test_only_families_that_there_are_are_asked_for",),
    ),
    Mutant(
        "nothing to undo is called a change without a name",
        "app/ui/looks/undo.py",
        "words if title else alone",
        "words",
        (f"{_WINDOW}::test_undo_has_a_text_of_its_own_where_there_is_no_change",),
    ),
    Mutant(
        "keys of a look are named in English",
        "app/ui/looks/strip.py",
        "SequenceFormat.NativeText",
        "SequenceFormat.PortableText",
        (f"{_WINDOW}::test_qt_names_the_keys_of_a_look",),
    ),
    Mutant(
        "an answer that is not named is not translated",
        "app/ui/widgets/question_card.py",
        'asked.no or tr("Cance&l")',
        'asked.no or "Cance&l"',
        (f"{_WINDOW}::test_a_question_that_names_no_answer_has_a_translated_one",),
    ),
    Mutant(
        "the drawer is at the right in every direction",
        "app/ui/workspace.py",
        "self._panel.setGeometry(QStyle.visualRect(direction, whole, drawer))",
        "self._panel.setGeometry(drawer)",
        (f"{_TURNED}::test_the_drawer_is_at_the_left_and_a_click_beside_it_closes_it",),
    ),
    Mutant(
        "marks of a film do not turn with its slider",
        "app/ui/player/bar.py",
        "value, span, option.upsideDown",
        "value, span, False",
        (f"{_TURNED}::test_the_marks_of_a_film_are_where_its_handle_is",),
    ),
    Mutant(
        "the chosen language is not kept",
        "app/ui/controllers/language_menu.py",
        "self._update(language=key)",
        "pass",
        (
            "tests/app/ui/window/test_languages.py::"
            "test_a_chosen_language_is_kept_and_asks_for_another_window",
        ),
    ),
    Mutant(
        "a window in another language forgets what can be undone",
        "app/ui/reopening.py",
        "window.undo.take(self.history)",
        "pass",
        (f"{_REOPENED}::test_changes_before_the_language_can_be_undone_after_it",),
    ),
    Mutant(
        "a window in another language begins a film anew",
        "app/ui/reopening.py",
        "session.seek(self.position)",
        "pass",
        (f"{_REOPENED}::test_a_film_goes_on_where_it_was_and_stays_paused",),
    ),
    Mutant(
        "another language ends running work",
        "app/ui/main_window/window.py",
        "if self.closing.would_ask:\n            self.notices",
        "if False:\n            self.notices",
        (f"{_REOPENED}::test_running_work_puts_the_language_off_until_the_next_start",),
    ),
    Mutant(
        "a bare f-string is taken for no text",
        "tools/bare_texts.py",
        "if isinstance(node, ast.Constant | ast.JoinedStr):\n        words",
        "if isinstance(node, ast.Constant):\n        words",
        (f"{_TOOL}::test_a_bare_text_is_found",),
    ),
    Mutant(
        "a label of a form is taken for no text",
        "tools/bare_texts.py",
        'or (name == "add" and len(node.args) > 1)',
        "",
        (f"{_TOOL}::test_a_bare_text_is_found",),
    ),
    Mutant(
        "a word beside a value is taken for no text",
        "tools/bare_texts.py",
        "isinstance(node, ast.JoinedStr) and bool(_BESIDE_VALUE",
        "False and bool(_BESIDE_VALUE",
        (f"{_TOOL}::test_a_bare_text_is_found",),
    ),
    Mutant(
        "a label with a mnemonic is taken for no text",
        "tools/bare_texts.py",
        '_MNEMONIC.sub("", _words(node))',
        "_words(node)",
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
        "a sentence of a command changes without a review",
        "app/batch/shard.py",
        "nothing says which shard this is: none of",
        "this shard has no number: none of",
        ("tests/tools/test_texts.py::test_the_file_has_the_sentences_of_the_program",),
    ),
    Mutant(
        "an error forgets its fields",
        "utils/translation/texts.py",
        "    return Filled.of(shown.format(**values), template, texts)\n",
        "    return Filled.of(shown.format(**values), template, {})\n",
        (
            "tests/utils/translation/test_texts.py::"
            "test_a_text_keeps_its_english_template_and_its_fields",
        ),
    ),
    Mutant(
        "numbers stay English",
        "app/ui/languages.py",
        "    numbers.use(number)\n",
        "",
        (f"{_WINDOW}::test_numbers_have_a_decimal_comma_in_german",),
    ),
    Mutant(
        "a large number that is rounded has an exponent",
        "utils/translation/numbers.py",
        'len(mantissa.partition(".")[2]) - int(exponent or 0)',
        'len(mantissa.partition(".")[2]) + int(exponent or 0)',
        (f"{_NUMBERS}::test_a_large_number_is_written_out",),
    ),
    Mutant(
        "the last of several things is not set apart",
        "utils/translation/joints.py",
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
        "if path.as_posix() not in APART",
        'if path.as_posix() not in APART and "camera" not in path.parts',
        (f"{_TOOL}::test_no_module_of_the_window_is_left_out",),
    ),
)
