"""Mutants of the queue in the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_JOBS = "tests/app/batch/queue/test_job_queue.py"
_OVERVIEW = "tests/app/batch/queue/test_overview.py"
_LOOK = "tests/app/ui/queue/test_look.py"
_ROWS = "tests/app/ui/queue/test_rows.py"
_MODEL = "tests/app/ui/queue/test_row_model.py"
_WINDOW = "tests/app/ui/window/test_queue.py"

MUTANTS = (
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
)
