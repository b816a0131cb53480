"""Mutants of the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CLOSING = "tests/app/ui/window/test_closing.py"
_SECOND = "tests/app/ui/window/test_second_start.py"
_INTERRUPTED = "tests/app/ui/window/test_interrupted_exports.py"

MUTANTS = (
    Mutant(
        "a file in place of a command is an unknown command",
        "app/cli.py",
        'argv[0][:1] != "-" and Path(argv[0]).exists()',
        "False",
        (
            "tests/app/commands/test_cli.py::"
            "test_files_in_place_of_a_command_are_opened_in_the_window",
        ),
    ),
    Mutant(
        "the bar forgets which picture of a folder is open",
        "app/live/source_reports.py",
        "            self._events.position_changed(self._position)\n",
        "            self._events.position_changed(0.0)\n",
        (
            "tests/app/ui/window/test_film_strip.py::"
            "test_the_bar_counts_to_the_picture_that_is_open",
        ),
    ),
    Mutant(
        "pictures have frames a second",
        "app/ui/speed/badge.py",
        " and not self._of_pictures()",
        "",
        ("tests/app/ui/window/test_film_strip.py::test_pictures_have_no_rate",),
    ),
    Mutant(
        "the offer to remember covers the speed test",
        "app/ui/main_window/parts.py",
        'lambda: self.wall.shown or self.viewport.view == "compare",',
        "lambda: self.wall.shown,",
        (
            "tests/app/ui/window/test_remembering.py::"
            "test_the_question_covers_neither_the_wall_nor_the_speed_test",
        ),
    ),
    Mutant(
        "tiles behead upright pictures",
        "app/live/previews/tiles.py",
        "ABOVE_UPRIGHT if frame.height > frame.width else ABOVE",
        "ABOVE",
        (
            "tests/app/live/previews/test_tiles.py::"
            "test_a_tile_of_an_upright_picture_shows_its_upper_part",
        ),
    ),
    Mutant(
        "letters are underlined before Alt is held",
        "app/ui/theme/underlines.py",
        "            return int(self.shown)\n",
        "            return 1\n",
        (
            "tests/app/ui/window/test_keyboard_alone.py::"
            "test_letters_are_no_longer_underlined_after_alt_and_tab",
        ),
    ),
    Mutant(
        "letters stay underlined after Alt and Tab",
        "app/ui/theme/underlines.py",
        "        elif kind in _LEFT:\n",
        "        elif False:\n",
        (
            "tests/app/ui/window/test_keyboard_alone.py::"
            "test_letters_are_no_longer_underlined_after_alt_and_tab",
        ),
    ),
    Mutant(
        "the keys of a focused button are shortcuts of the window",
        "app/ui/workspace.py",
        "        if is_own_key(event, self.window()):\n",
        "        if False:\n",
        ("tests/app/ui/window/test_keys.py::test_space_on_a_focused_button_presses_the_button",),
    ),
    Mutant(
        "a second start opens a window beside the open one",
        "app/ui/second_start.py",
        "                if not alone and hand_over(name, request):\n",
        "                if False:\n",
        (f"{_SECOND}::test_the_open_window_gets_the_files_of_the_program_that_ends",),
    ),
    Mutant(
        "a start that asks for its own window gives its files away",
        "app/ui/second_start.py",
        "not alone and hand_over",
        "hand_over",
        (f"{_SECOND}::test_a_start_that_wants_its_own_window_hands_nothing_over",),
    ),
    Mutant(
        "the window closes without asking about what runs",
        "app/ui/main_window/closing.py",
        "        if said and not self._asks():\n",
        "        if False:\n",
        (f"{_CLOSING}::test_everything_that_runs_is_in_one_question",),
    ),
    Mutant(
        "the window closes before a picture is saved",
        "app/ui/main_window/closing.py",
        "        Work(lambda: session.writing),\n",
        "",
        (f"{_CLOSING}::test_a_picture_that_is_being_saved_is_saved_before_the_window_closes",),
    ),
    Mutant(
        "a recording outlives a window that was deleted",
        "app/ui/controllers/exporter.py",
        "        session.ending.connect(self._end)\n",
        "",
        (f"{_CLOSING}::test_a_recording_whose_window_is_gone_ends_with_the_session",),
    ),
    Mutant(
        "an interrupted export is not offered",
        "app/ui/main_window/window.py",
        "        self.interrupted_exports.look()\n",
        "",
        (f"{_INTERRUPTED}::test_it_is_resumed_behind_its_finished_parts",),
    ),
    Mutant(
        "an export that another window makes is offered",
        "app/export/film/store.py",
        "be written\n        return False\n",
        "be written\n        return True\n",
        (f"{_INTERRUPTED}::test_nothing_is_offered_of_an_export_that_another_window_makes",),
    ),
    Mutant(
        "SIGTERM kills a command while it writes",
        "app/__main__.py",
        "    signal.signal(signal.SIGTERM, signal.default_int_handler)\n",
        "",
        (
            "tests/app/commands/test_stylize_files.py::"
            "test_ctrl_c_leaves_whole_files_and_status_130",
        ),
    ),
    Mutant(
        "the record of a canceled export is kept",
        "app/ui/film/exporter.py",
        "                if not quits and not store_folder(order.target).exists():",
        "                if False:",
        (f"{_INTERRUPTED}::test_a_canceled_export_is_not_offered",),
    ),
    Mutant(
        "a picture beside a dead address is forgotten",
        "app/live/session/opening.py",
        "                if otherwise is not None:\n",
        "                if False:\n",
        ("tests/app/ui/window/test_drop.py::test_a_picture_opens_beside_an_address_that_does_not",),
    ),
    Mutant(
        "a file address with a host is another machine's",
        "app/ui/controllers/dropped_material.py",
        '    if host in (*_THIS_MACHINE, here, here.partition(".")[0]):\n',
        "    if not host:\n",
        (
            "tests/app/ui/controllers/test_drop_parser.py::"
            "test_files_of_this_machine_may_be_named_with_their_host",
        ),
        breaks=("drops",),
    ),
    Mutant(
        "both sides of the split view show the styled picture",
        "app/ui/viewport/viewport.py",
        "self._draw(painter, styled.source, whole)",
        "self._draw(painter, styled.frame, whole)",
        (
            "tests/app/ui/widgets/test_viewport.py::"
            "test_the_split_has_the_original_left_and_the_styled_right",
        ),
    ),
    Mutant(
        "a drop-down has no name for a screen reader",
        "app/ui/widgets/option_box.py",
        "self.setAccessibleName(name)",
        "pass",
        (
            "tests/app/ui/window/test_keys.py::test_every_control_has_an_accessible_name_and_a_tooltip",
        ),
    ),
    Mutant(
        "a label of the panel does not lead to its control",
        "app/ui/widgets/form_layout.py",
        "label.setBuddy(control)",
        "pass",
        ("tests/app/ui/window/test_keys.py::test_every_label_of_the_panel_leads_to_its_control",),
    ),
    Mutant(
        "text from outside writes over the terminal",
        "utils/text.py",
        'if char.isprintable() or unicodedata.category(char) == "Zs":',
        "if True:",
        ("tests/utils/test_text.py",),
    ),
    Mutant(
        "a start without a source shows an empty window",
        "app/ui/wall/controller.py",
        "self.page.show_page(self._shown and not self._dragging)",
        "self.page.show_page(False)",
        (
            "tests/app/ui/window/test_wall.py::test_escape_leaves_full_screen_and_messages_before_the_picture",
        ),
    ),
    Mutant(
        "the wall hides what a drop would do",
        "app/ui/wall/controller.py",
        "self._dragging = True",
        "self._dragging = False",
        ("tests/app/ui/window/test_wall.py::test_what_is_dropped_on_the_wall_is_painted_there",),
    ),
    Mutant(
        "a camera is opened because it was found, unasked",
        "app/ui/wall/sources.py",
        "if wanted:",
        "if True:",
        ("tests/app/ui/window/test_wall.py::test_the_wall_opens_no_camera_unasked",),
    ),
    Mutant(
        "the camera of the last time is opened unasked",
        "app/ui/wall/first_source.py",
        "is_camera(stored) or ",
        "",
        ("tests/app/ui/window/test_wall.py::test_the_wall_opens_no_camera_unasked",),
    ),
    Mutant(
        "Escape does not return to the wall",
        "app/ui/main_window/commands.py",
        "        else:\n            window.wall.show()",
        "        else:\n            pass",
        (
            "tests/app/ui/window/test_wall.py::test_escape_leaves_full_screen_and_messages_before_the_picture",
        ),
    ),
    Mutant(
        "a wall that is not seen goes on painting",
        "app/ui/wall/controller.py",
        "seen = self.page.isVisible() or",
        "seen = True or",
        ("tests/app/ui/window/test_wall.py::test_a_wall_that_is_not_seen_paints_nothing",),
    ),
    Mutant(
        "the stream is styled behind the wall",
        "app/live/session/wall.py",
        "self._rest(True)",
        "pass",
        ("tests/app/ui/window/test_wall.py::test_the_stream_is_not_styled_behind_the_wall",),
    ),
    Mutant(
        "the wall is painted by the fast networks",
        "app/live/previews/tiles.py",
        'network="full"',
        'network="lite"',
        (
            "tests/app/live/previews/test_tiles.py::test_tiles_are_painted_by_the_fine_network_in_the_look_of_the_window",
        ),
    ),
    Mutant(
        "all networks of the wall stay in memory behind the picture",
        "app/live/previews/tiles.py",
        "        if not styles:\n            self._engine = None",
        "        if False:\n            self._engine = None",
        (
            "tests/app/live/previews/test_tiles.py::test_nothing_is_painted_while_nothing_is_wanted_and_no_network_is_held",
        ),
    ),
    Mutant(
        "the badge lies on the figures",
        "app/ui/main_window/visibility.py",
        "settings.badge and not (settings.overlay or full or wall)",
        "settings.badge",
        (
            "tests/app/ui/window/test_badge.py::"
            "test_a_click_on_the_badge_opens_the_figures_in_its_place",
        ),
    ),
    Mutant(
        "a still picture has the frame rate of what was before",
        "app/ui/speed/badge.py",
        "shown = bool(fps) and",
        "shown =",
        ("tests/app/ui/window/test_badge.py::test_a_still_picture_has_no_rate",),
    ),
    Mutant(
        "the status line does not say that PyTorch cannot use the GPU",
        "app/ui/speed/words.py",
        'if any("NVIDIA" in reason for reason in running.limitations):',
        "if False:",
        ("tests/app/ui/speed/test_words.py::test_one_sentence_says_what_was_chosen_and_why",),
    ),
    Mutant(
        "compiling is said for ever",
        "app/ui/speed/compiling.py",
        'self._show(tr(COMPILING) if compiling else "")',
        "self._show(tr(COMPILING))",
        (
            "tests/app/ui/speed/test_words.py::"
            "test_compiling_is_said_while_it_lasts_and_what_it_gained_after",
        ),
    ),
    Mutant(
        "the toolbar has no words however wide it is",
        "app/ui/widgets/toolbar.py",
        "return key in _FOLDING and self._folded <= _FOLDING.index(key)",
        "return False",
        (
            "tests/app/ui/window/test_small_screens.py::"
            "test_buttons_of_the_toolbar_have_words_where_there_is_room",
        ),
    ),
    Mutant(
        "the button of the details moves the picture as it appears",
        "app/ui/widgets/status_bar.py",
        "policy.setRetainSizeWhenHidden(True)",
        "pass",
        ("tests/app/ui/window/test_messages.py::test_no_message_moves_the_picture",),
    ),
    Mutant(
        "strokes change their width as the bar moves",
        "app/ui/speed/steps.py",
        "keep_strokes=self.size is not None",
        "keep_strokes=False",
        ("tests/app/ui/speed/test_steps.py::test_strokes_keep_their_width_when_the_bar_moves",),
    ),
    Mutant(
        "a computed rate is shown as a measured one",
        "app/ui/speed/bar.py",
        "if time.measured else",
        "if True else",
        ("tests/app/ui/speed/test_steps.py::test_a_rate_that_was_not_measured_says_about",),
    ),
    Mutant(
        "the bar shows a step although another engine was chosen by hand",
        "app/ui/speed/controller.py",
        "on_bar = chosen.applied(config) == config and",
        "on_bar = chosen.applied(config).size == config.size and",
        ("tests/app/ui/window/test_speed_bar.py::test_what_is_moved_by_hand_makes_the_bar_custom",),
    ),
    Mutant(
        "the bar forgets the step that is in force",
        "app/ui/speed/steps.py",
        "side[-1:] = [chosen]",
        "pass",
        (
            "tests/app/ui/speed/test_steps.py::"
            "test_the_chosen_step_stays_on_the_bar_when_others_are_derived",
        ),
    ),
    Mutant(
        "times of other kernels are kept",
        "app/ui/speed/controller.py",
        "self._machine.times.clear()",
        "pass",
        (
            "tests/app/ui/window/test_speed_bar.py::"
            "test_other_kernels_make_what_was_measured_worthless",
        ),
    ),
    Mutant(
        "the frame that prepares a size is measured",
        "app/ui/speed/timing.py",
        "if not repeated:",
        "if False:",
        (
            "tests/app/ui/speed/test_steps.py::"
            "test_a_time_is_measured_only_after_some_frames_at_one_size",
        ),
    ),
    Mutant(
        "a click beside the handle of a slider moves it by a page",
        "app/ui/widgets/jump_slider.py",
        "            self._jump_to(event.position().x())\n",
        "            pass\n",
        ("tests/app/ui/widgets/test_jump_slider.py::test_the_handle_comes_to_a_click",),
    ),
    Mutant(
        "a drop-down list opens over its box",
        "app/ui/widgets/option_box.py",
        "        place.moveTop(self._top_of(place.height(), screen))\n",
        "",
        (
            "tests/app/ui/window/test_drop_downs.py"
            "::test_a_list_opens_below_its_box_or_above_where_the_screen_ends",
        ),
    ),
    Mutant(
        "the next chooser of a folder begins one level higher",
        "app/ui/file_dialogs.py",
        "chosen if mode is FileMode.Directory else chosen.parent",
        "chosen.parent",
        ("tests/app/ui/window/test_files.py::test_a_chosen_folder_is_where_the_next_one_begins",),
    ),
    Mutant(
        "the question about the source covers the picture until it is answered",
        "app/ui/controllers/remembering.py",
        "                    self._gone.start()\n",
        "                    pass\n",
        (
            "tests/app/ui/window/test_remembering.py"
            "::test_a_question_that_gets_no_answer_goes_until_the_next_start",
        ),
    ),
    Mutant(
        "the question about the source covers the first painting",
        "app/ui/controllers/remembering.py",
        "        if self._later.isActive():\n            return\n",
        "",
        (
            "tests/app/ui/window/test_remembering.py"
            "::test_the_first_painting_is_seen_before_the_question",
        ),
    ),
)
