"""Mutants of messages and questions, and of what the window remembers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_MESSAGES = "tests/app/ui/window/test_messages.py"
_REMEMBERING = "tests/app/ui/window/test_remembering.py"

MUTANTS = (
    Mutant(
        "a button changes under the pointer",
        "app/ui/widgets/toast.py",
        "        if not self._held:\n",
        "        if True:\n",
        (f"{_MESSAGES}::test_no_button_changes_under_the_pointer",),
    ),
    Mutant(
        "a message that was replaced does not come back",
        "app/ui/widgets/toast.py",
        "        self._order.append(card)\n",
        "        self._order = [card]\n",
        (f"{_MESSAGES}::test_older_messages_that_need_an_answer_come_back_and_notices_do_not",),
    ),
    Mutant(
        "a toast falls when the one below it goes",
        "app/ui/widgets/floating.py",
        "        self._lifts = lifts\n",
        "        self._lifts = {}\n",
        (f"{_MESSAGES}::test_work_that_comes_and_goes_moves_no_card",),
    ),
    Mutant(
        "a fault of a file asks for a report",
        "app/errors.py",
        "at_fault = advice == ASK_FOR_HELP",
        "at_fault = True",
        (f"{_MESSAGES}::test_only_a_fault_of_the_program_asks_for_a_report",),
    ),
    Mutant(
        "a damaged file leaves no way to another one",
        "app/live/session/opening.py",
        "failure=failure, of_source=True",
        "failure=failure",
        ("tests/app/ui/window/test_files.py::test_a_damaged_file_leaves_a_way_to_another",),
    ),
    Mutant(
        "a click meant for the picture answers a question",
        "app/ui/widgets/question_card.py",
        "return pressed and self.settling",
        "return False",
        (
            f"{_MESSAGES}::"
            "test_a_question_that_came_unasked_takes_no_key_and_no_click_meant_for_the_picture",
        ),
    ),
    Mutant(
        "keys reach the window behind the question about quitting",
        "app/ui/widgets/question_card.py",
        "and self._asked.modal",
        "and False",
        (f"{_MESSAGES}::test_the_window_behind_a_closing_question_waits",),
    ),
    Mutant(
        "the source is stored before the user allows it",
        "app/ui/main_window/window_settings.py",
        "    if settings.remember_source == ALWAYS:\n",
        "    if settings.remember_source != NEVER:\n",
        (f"{_REMEMBERING}::test_nothing_is_remembered_until_the_user_allows_it",),
    ),
)
