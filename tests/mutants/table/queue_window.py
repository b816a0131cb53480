"""Mutants of the queue in the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_JOBS = "tests/app/batch/queue/test_job_queue.py"
_OVERVIEW = "tests/app/batch/queue/test_overview.py"
_LOOK = "tests/app/ui/queue/test_look.py"
_ROWS = "tests/app/ui/queue/test_rows.py"
_MODEL = "tests/app/ui/queue/test_row_model.py"
_WINDOW = "tests/app/ui/window/test_queue.py"
_ORDER = "tests/app/ui/film_strip/test_paint_all_order.py"
_PAINT_ALL = "tests/app/ui/window/test_paint_all.py"

MUTANTS = (
    Mutant(
        "a job that ends while it is read counts as interrupted",
        "app/batch/queue/overview.py",
        "job = self._queue.get(job.number)  # its",
        "job = job  # its",
        (f"{_OVERVIEW}::test_a_job_whose_process_ends_while_it_is_read_is_not_interrupted",),
    ),
    Mutant(
        "trying again runs every waiting entry",
        "app/ui/queue/control/entries.py",
        "waiting = queue.waiting(known)",
        "waiting = []",
        ("tests/app/ui/window/test_queue.py::test_trying_again_leaves_other_entries_waiting",),
    ),
    Mutant(
        "an animation in the queue is to become a PNG",
        "app/ui/queue/look.py",
        "    if ending in FILM_ENDINGS or moves_in_folder(path):\n",
        "    if ending in FILM_ENDINGS:\n",
        (
            "tests/app/ui/queue/test_look.py::"
            "test_an_animation_becomes_one_and_a_still_gif_a_picture",
        ),
    ),
    Mutant(
        "the order of the queue is forgotten",
        "app/batch/queue/job_queue.py",
        "        return arranged + [number",
        "        return [number",
        (f"{_JOBS}::test_jobs_run_in_the_order_in_which_they_were_arranged",),
    ),
    Mutant(
        "a new job has the place of one that was removed",
        "app/batch/queue/job_queue.py",
        "(*self._numbers(), *self._arranged()[0])",
        "self._numbers()",
        (f"{_JOBS}::test_a_number_that_was_arranged_is_not_given_again",),
    ),
    Mutant(
        "manifests are read again and again",
        "app/batch/queue/overview.py",
        "known is None or known[0] != stamp",
        "True",
        (f"{_OVERVIEW}::test_a_manifest_that_has_not_changed_is_not_read_again",),
    ),
    Mutant(
        "pictures of one name from two folders are painted over one another",
        "app/ui/queue/look.py",
        "            if taken.get(str(target), (str(path),)) == (str(path),):\n",
        "            if True:\n",
        (f"{_LOOK}::test_two_sources_of_one_name_have_two_results_and_one_has_its_own_again",),
    ),
    Mutant(
        "unrelated pictures of a folder are blended as frames of a stream",
        "app/ui/queue/look.py",
        'if name == "smoothing" and kind is not Kind.FILM:',
        "if False:",
        (f"{_LOOK}::test_pictures_that_do_not_follow_one_another_are_not_blended",),
    ),
    Mutant(
        "a forecast leaves out what it knows nothing of in silence",
        "app/ui/queue/forecast.py",
        "unknown = work.unknown > 0",
        "unknown = False",
        (f"{_ROWS}::test_what_is_left_counts_what_is_known_and_says_so_where_something_is_not",),
    ),
    Mutant(
        "rows that are moved take the selection of others along",
        "app/ui/queue/row_model.py",
        "        self.changePersistentIndexList(before,",
        "        list(before) and (lambda *_: None)(before,",
        (f"{_MODEL}::test_rows_change_step_by_step_and_what_is_chosen_stays_chosen",),
    ),
    Mutant(
        "every visible thumbnail is read at once",
        "app/ui/queue/thumbnails.py",
        "        if self._reading or not self._wanted:\n",
        "        if not self._wanted:\n",
        (f"{_MODEL}::test_thumbnails_are_read_one_after_the_other_and_the_newest_row_first",),
    ),
    Mutant(
        "files dropped on the picture are queued unasked",
        "app/ui/queue/controller.py",
        "        if strip is None:\n",
        "        if True:\n",
        (f"{_WINDOW}::test_files_dropped_on_the_picture_are_queued_if_that_is_the_answer",),
    ),
    Mutant(
        "the queue's process is left behind when the program quits unasked",
        "app/ui/main_window/closing.py",
        "            lambda: queue.busy,\n",
        "            lambda: False,\n",
        (f"{_WINDOW}::test_quitting_asks_and_the_next_start_offers_to_go_on",),
    ),
    Mutant(
        "paintings of all pictures go into a folder that has files",
        "app/ui/film_strip/paint_all/order.py",
        "        if str(folder) not in taken and not _in_use(folder):\n",
        "        if str(folder) not in taken:\n",
        (f"{_ORDER}::test_a_folder_in_use_and_the_folder_of_another_job_stay_theirs",),
    ),
    Mutant(
        "pictures of one name in two folders fail the job that paints all",
        "app/ui/film_strip/paint_all/order.py",
        "name, (jobs, _) = NUMBERED, plan_jobs(inputs, folder, name_pattern(NUMBERED), style)",
        "raise",
        (f"{_ORDER}::test_pictures_of_one_name_from_two_folders_have_numbers",),
    ),
    Mutant(
        "a job of many pictures that failed counts as one",
        "app/ui/queue/rows.py",
        "self.failed or max(1, self.size - done)",
        "1",
        (f"{_ROWS}::test_pictures_are_counted_not_rows",),
    ),
    Mutant(
        "files of a job that has not begun are not counted",
        "app/batch/queue/overview.py",
        "return files if files == len(job.stamps) else 0",
        "return 0",
        (f"{_OVERVIEW}::test_the_pictures_of_a_job_of_several_files_are_counted_before_it_begins",),
    ),
    Mutant(
        "the key that selects all rows asks to paint all pictures",
        "app/ui/queue/row_list.py",
        "        if selects and self.model().rowCount():\n",
        "        if False:\n",
        (f"{_PAINT_ALL}::test_the_key_that_selects_all_rows_still_does",),
    ),
    Mutant(
        "a style that cannot paint can be ticked",
        "app/ui/film_strip/paint_all/tiles.py",
        "        item.setEnabled(False)\n",
        "",
        (f"{_PAINT_ALL}::test_a_style_that_cannot_paint_cannot_be_ticked",),
    ),
    Mutant(
        "larger pictures are not reduced",
        "app/batch/pictures/files.py",
        "    if job.long_side is not None:\n",
        "    if False:\n",
        (
            "tests/app/batch/pictures/test_files.py::"
            "test_a_picture_is_reduced_to_the_long_side_of_its_job",
        ),
    ),
    Mutant(
        "paintings replace files in a folder that the user chose",
        "app/ui/film_strip/paint_all/order.py",
        "or os.path.lexists(path) for path in targets",
        "for path in targets",
        (f"{_ORDER}::test_a_chosen_folder_with_other_files_takes_the_paintings",),
    ),
    Mutant(
        "paintings that wait for a folder are painted over",
        "app/ui/film_strip/paint_all/order.py",
        " or (str(folder), tuple(look.styles)) in painted:",
        ":",
        (f"{_ORDER}::test_paintings_that_wait_for_the_same_folder_keep_their_names",),
    ),
    Mutant(
        "rows that nobody started run with new ones",
        "app/batch/queue/job_queue.py",
        " or job.number in leave:",
        ":",
        ("tests/app/commands/test_queue.py::test_jobs_that_are_left_stay_waiting",),
    ),
    Mutant(
        "new paintings run after rows that wait",
        "app/ui/queue/controller.py",
        "                queue.arrange(numbers, waiting[0])\n",
        "                pass\n",
        (f"{_PAINT_ALL}::test_new_paintings_come_before_rows_that_wait_which_stay_waiting",),
    ),
    Mutant(
        "buttons of the results take the arrow keys",
        "app/ui/queue/result_page.py",
        "            button.installEventFilter(self)\n",
        "",
        (f"{_PAINT_ALL}::test_a_double_click_shows_the_paintings_of_a_row_in_the_window",),
    ),
    Mutant(
        "a folder in the queue paints the results in it again",
        "app/ui/queue/look.py",
        'flags.append(f"--leave-out={self.folder.absolute()}")',
        "pass",
        (
            "tests/app/ui/queue/test_look.py"
            "::test_the_results_in_a_painted_folder_are_not_painted_again",
        ),
    ),
    Mutant(
        "a large folder in the queue is counted however long it takes",
        "app/batch/queue/overview.py",
        "        if time.monotonic() > end:\n",
        "        if False:\n",
        (
            "tests/app/batch/queue/test_overview.py"
            "::test_a_folder_that_takes_long_to_count_has_no_number",
        ),
    ),
    Mutant(
        "Show the pictures begins with the newest row, not with the chosen row",
        "app/ui/queue/control/results.py",
        "key=lambda row: (row not in first, row.state.waits, -row.number)",
        "key=lambda row: (row.state.waits, -row.number)",
        (
            "tests/app/ui/window/test_paint_all.py"
            "::test_all_paintings_are_shown_those_of_the_chosen_row_first",
        ),
    ),
)
