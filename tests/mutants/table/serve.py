"""Mutants of the server: access, the cost of a request, the waiting line, jobs, the page."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ACCESS = "tests/app/server/test_access.py"
_PICTURES = "tests/app/server/test_pictures.py"
_JOBS = "tests/app/server/test_jobs.py"
_ABOUT = "tests/app/server/test_about.py"
_PAGE = "tests/app/server/test_page.py"
_STYLES = "tests/app/server/test_styles.py"
_OTHERS = f"{_ACCESS}::test_pages_of_others_may_not_use_the_server_even_with_the_token"
_MINUTE = "test_more_requests_in_a_minute_are_refused_and_those_without_the_token_do_not_count"
_TOKEN = '        if not is_allowed(headers.get("authorization"), self._token):\n'

MUTANTS = (
    Mutant(
        "the server listens to other machines",
        "app/server/address.py",
        "    if address not in LOOPBACK:\n",
        "    if False:\n",
        (f"{_ACCESS}::test_no_other_machine_can_reach_the_server",),
        breaks=("AddressError",),
    ),
    Mutant(
        "a name that was pointed at loopback is answered",
        "app/server/gate.py",
        "        if host not in self._hosts:\n",
        "        if False:\n",
        (f"{_ACCESS}::test_a_name_that_others_have_pointed_at_loopback_is_refused",),
    ),
    Mutant(
        "pages of other sites may use the server",
        "app/server/gate.py",
        "        if origin is not None and ",
        "        if origin == '' and ",
        (_OTHERS,),
        breaks=("Refused",),
    ),
    Mutant(
        "the beginning of a token is enough",
        "app/server/access.py",
        "secrets.compare_digest(given.strip().encode(), token.encode())",
        "token.startswith(given.strip())",
        (f"{_ACCESS}::test_a_token_is_compared_as_a_whole",),
    ),
    Mutant(
        "a token that others can read is used",
        "app/server/access.py",
        "    if others:\n",
        "    if False:\n",
        (f"{_ACCESS}::test_a_token_file_that_others_can_read_is_refused",),
        breaks=("TokenError",),
    ),
    Mutant(
        "requests without the token use up the minute",
        "app/server/gate.py",
        _TOKEN,
        f"        self._rate.count()\n{_TOKEN}",
        (f"{_ACCESS}::{_MINUTE}",),
    ),
    Mutant(
        "there may be any number of styles of pictures",
        "app/server/limits.py",
        "        if count >= self.styles:\n",
        "        if False:\n",
        (f"{_STYLES}::test_there_are_as_many_styles_of_pictures_as_may_be",),
    ),
    Mutant(
        "trained styles are removed over HTTP",
        "app/server/routes/styles.py",
        "        if not _is_of_picture(style):\n",
        "        if style.builtin:\n",
        (f"{_STYLES}::test_styles_that_come_with_the_program_or_were_trained_stay",),
    ),
    Mutant(
        "a new style is painted as the removed one of its name",
        "app/commands/serve/painter.py",
        "        self._engine.evict(style.key)  # of a removed style, which it may hold\n",
        "",
        (
            f"{_STYLES}::test_another_style_of_the_same_name_is_not_painted_as_the_one_that_was_"
            "removed",
        ),
    ),
    Mutant(
        "a picture that is dropped on the styles is painted",
        "app/server/page/page.js",
        '  if (file && event.target.closest("#style")) addPictureStyle(file);\n  else if (file)',
        "  if (file)",
        (f"{_PAGE}::test_a_picture_that_is_dropped_on_the_styles_becomes_one",),
    ),
    Mutant(
        "a body without a length may be endless",
        "app/server/upload.py",
        "            limits.check_bytes(count)\n",
        "",
        (f"{_PICTURES}::test_a_body_of_unknown_length_is_refused_when_it_has_become_too_large",),
    ),
    Mutant(
        "a body is read although its length is too large",
        "app/server/upload.py",
        "        limits.check_bytes(int(declared))\n",
        "        pass\n",
        (f"{_PICTURES}::test_a_body_that_is_declared_too_large_is_refused_before_a_byte_of_it",),
    ),
    Mutant(
        "a small picture may ask for a huge network input",
        "app/server/upload.py",
        "    if look is not None and look.size is not None and look.size != FULL:\n",
        "    if False:\n",
        (f"{_PICTURES}::test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded",),
    ),
    Mutant(
        "a picture that never came as a whole keeps its place",
        "app/server/line.py",
        "        if not self._is_used:\n",
        "        if False:\n",
        (f"{_PICTURES}::test_a_picture_that_never_comes_as_a_whole_takes_no_place",),
    ),
    Mutant(
        "the line has no end",
        "app/server/line.py",
        "self._taken >= self._most and not always",
        "False",
        (f"{_PICTURES}::test_a_full_line_is_said_at_once",),
    ),
    Mutant(
        "a picture is painted although nobody waits for it",
        "app/server/routes/pictures.py",
        "            turn.cancel()\n",
        "",
        (f"{_PICTURES}::test_a_picture_that_nobody_waits_for_any_more_is_not_painted",),
    ),
    Mutant(
        "pictures that were sent stay in the temporary folder",
        "app/server/routes/pictures.py",
        "            background=BackgroundTask(_discard, folder),\n",
        "",
        (f"{_PICTURES}::test_nothing_is_left_of_pictures_that_were_sent",),
    ),
    Mutant(
        "jobs of an earlier server are forgotten",
        "app/server/jobs.py",
        "        left = [job for job in self.all() if job.state is JobState.WAITING]\n",
        "        left: list[QueuedJob] = []\n",
        (f"{_JOBS}::test_jobs_that_a_server_left_are_done_by_the_next_one",),
    ),
    Mutant(
        "a job's file can have any folder deleted",
        "app/server/jobs.py",
        "        if folder.parent == self._pictures:",
        "        if True:",
        (f"{_JOBS}::test_no_job_names_a_folder_that_is_deleted_elsewhere",),
    ),
    Mutant(
        "an option of a request is forgotten in a job",
        "app/server/look.py",
        "            if value is True:\n",
        "            if value is None:\n",
        (f"{_JOBS}::test_a_look_is_the_same_in_the_words_of_a_job_and_means_the_same_to_stylize",),
    ),
    Mutant(
        "a style's thumbnail may be a page with a script",
        "app/server/routes/styles.py",
        "    kind = _KINDS.get(what_is(data[:512]))\n",
        '    kind = _KINDS.get(what_is(data[:512]), "text/html")\n',
        (f"{_ABOUT}::test_a_thumbnail_is_sent_as_a_picture_or_not_at_all",),
    ),
    Mutant(
        "the gallery makes the page of a phone wider than its screen",
        "app/server/page/page.css",
        " border: 0; min-width: 0; }",
        " border: 0; }",
        (f"{_PAGE}::test_nothing_is_cut_off_on_a_screen",),
    ),
    Mutant(
        "the page keeps the token in its address",
        "app/server/page/server.js",
        '    history.replaceState(null, "", location.pathname);\n',
        "",
        (f"{_PAGE}::test_the_token_stays_neither_in_the_address_nor_in_a_cookie",),
    ),
    Mutant(
        "a package that a system lacks keeps the others from being installed",
        "utils/system.py",
        "purposes.setdefault(item.purpose, {})",
        'purposes.setdefault("", {})',
        (
            "tests/tools/test_makefile.py::"
            "test_a_package_that_a_system_does_not_have_keeps_no_other_from_being_installed",
        ),
    ),
    Mutant(
        "the tests of shaders run without a software GPU being installed",
        "utils/system.py",
        "if tests and not any(any(Path(folder).glob(LLVMPIPE)) for folder in VULKAN_FOLDERS):",
        "if not tests and not any(any(Path(f).glob(LLVMPIPE)) for f in VULKAN_FOLDERS):",
        (
            "tests/tools/test_makefile.py::"
            "test_a_software_gpu_is_missing_only_where_tests_are_to_run",
        ),
    ),
    Mutant(
        "a body may trickle for ever",
        "app/server/connections.py",
        "BODY_S if self.conn.their_state is h11.SEND_BODY else None",
        "None",
        (
            "tests/app/server/test_connections.py::"
            "test_a_body_that_trickles_is_ended_and_gives_its_place_back",
        ),
    ),
)
