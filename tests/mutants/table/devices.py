"""Mutants of the cooperation of devices in a machine and of machines in a cluster."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DEVICES = "tests/app/batch/devices/test_devices.py"
_MIXED = "tests/app/batch/devices/test_mixed.py"
_CLUSTER = "tests/app/batch/cluster/test_cluster.py"
_ROWS = "tests/app/batch/cluster/test_rows.py"

MUTANTS = (
    Mutant(
        "what a dead process has not answered is lost",
        "app/batch/devices/crew.py",
        "self._waiting.extend((item,) for item in member.owed)",
        "self._waiting.extend(())",
        (f"{_DEVICES}::test_what_a_killed_process_has_not_answered_goes_to_the_others",),
    ),
    Mutant(
        "a GPU may be named twice",
        "app/batch/devices/choice.py",
        "if twice is not None:",
        "if False:",
        (f"{_DEVICES}::test_a_device_that_is_not_there_or_is_named_twice_is_refused",),
    ),
    Mutant(
        "a film with texture is split, and its texture jumps",
        "app/batch/team/films.py",
        "if config.texture_or(automatic) > 0:",
        "if False:",
        (f"{_DEVICES}::test_a_film_whose_frames_depend_on_those_before_is_of_one_device",),
    ),
    Mutant(
        "the address of a picture loses a slash",
        "app/batch/jobs/places.py",
        "return _ADDRESS.sub(_scheme, super().__str__(), count=1)",
        "return super().__str__()",
        (f"{_CLUSTER}::test_an_address_is_a_path_that_keeps_its_slashes",),
    ),
    Mutant(
        "what a dead node had is not given out again",
        "app/batch/cluster/pool.py",
        "        while left:\n",
        "        if left:\n",
        (f"{_CLUSTER}::test_a_thousand_pictures_are_all_made_once_while_a_node_is_killed",),
    ),
    Mutant(
        "a shared film that was stopped counts as made",
        "app/export/film/parts/shared.py",
        "        if answered < len(left):\n",
        "        if False:\n",
        (f"{_MIXED}::test_a_shared_run_that_is_stopped_in_its_film_goes_on_there",),
        breaks=("FilmCancelled",),
    ),
    Mutant(
        "a run of several devices makes no films",
        "app/batch/execution.py",
        "            if films:\n",
        "            if films and team is None:\n",
        (f"{_MIXED}::test_a_folder_of_pictures_and_films_that_processes_share_is_that_of_one",),
    ),
    Mutant(
        "a film that cannot be split is given to several devices",
        "app/batch/films/films.py",
        "split is not None and split.reason",
        "False",
        (f"{_MIXED}::test_films_that_one_device_makes_are_given_out_whole",),
    ),
    Mutant(
        "a picture that fails in another process counts as done",
        "app/batch/team/pictures.py",
        "yield replace(outcome, notices=new)",
        "yield replace(outcome, notices=new, fault=None)",
        (f"{_DEVICES}::test_pictures_of_two_processes_are_those_of_one",),
    ),
    Mutant(
        "a machine of a cluster makes a picture again whose result is there",
        "app/batch/cluster/painter.py",
        "if not self._setup.request.overwrite and is_there(job.target):",
        "if False:",
        (f"{_ROWS}::test_an_actor_answers_every_picture_and_makes_none_twice",),
    ),
    Mutant(
        "what a machine of a cluster says is taken for whatever it is",
        "app/batch/cluster/plain.py",
        "elif type(given) is kind or (kind is float and type(given) is int):",
        "else:",
        (f"{_ROWS}::test_a_row_that_is_none_of_ours_is_refused",),
    ),
    Mutant(
        "a name that is no text does not come through to another machine",
        "app/batch/cluster/rows.py",
        "json.dumps([name, to_plain(value)])",
        "json.dumps([name, to_plain(value)], ensure_ascii=False)",
        (f"{_ROWS}::test_what_is_said_arrives_as_it_was_and_is_plain_text",),
    ),
    Mutant(
        "a fault of another machine's disk loses the name of the file",
        "app/batch/pictures/outcome.py",
        "cls(exc.strerror or str(exc), True, file)",
        "cls(exc.strerror or str(exc), True)",
        (f"{_ROWS}::test_a_fault_of_the_system_stays_one_with_its_file",),
    ),
    Mutant(
        "how far films are that are given out whole is not told",
        "app/batch/devices/team.py",
        "told(message.value.place, message.value.progress)",
        "pass",
        (f"{_MIXED}::test_films_that_one_device_makes_are_given_out_whole",),
    ),
    Mutant(
        "a run that is stopped in films that are given out whole ends as if all were made",
        "app/batch/films/films.py",
        "        if count < len(jobs):\n",
        "        if False:\n",
        (f"{_MIXED}::test_a_run_that_is_stopped_in_whole_films_goes_on_with_them",),
    ),
)
