"""Mutants of work on many files: lists, names, shards, manifests, the queue, batches."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_INPUTS = "tests/app/commands/test_stylize_inputs.py"
_SHARD = "tests/app/batch/test_shard.py"
_SHARDS = "tests/app/commands/test_shards.py"
_MANIFEST = "tests/app/batch/test_manifest.py"
_JOBS = "tests/app/batch/queue/test_job_queue.py"
_QUEUE = "tests/app/commands/test_queue.py"
_WATCHED = "tests/app/batch/queue/test_watched_folder.py"
_STYLIST = "tests/app/test_stylist.py"
_MAN = "tests/app/commands/test_man.py"
_COMPLETION = "tests/app/commands/test_completion.py"

MUTANTS = (
    Mutant(
        "a list with NUL between the names is read as one name",
        "app/batch/jobs/inputs.py",
        'if b"\\0" in data',
        "if False",
        (f"{_INPUTS}::test_a_list_on_stdin_names_pictures_and_folders",),
    ),
    Mutant(
        "a pattern of names may leave the folder of the results",
        "app/batch/jobs/naming.py",
        ' or ".." in path.parts:',
        ":",
        (f"{_INPUTS}::test_a_pattern_that_names_no_file_is_refused",),
    ),
    Mutant(
        "a dry run writes results",
        "app/batch/run.py",
        "    if request.dry_run:\n",
        "    if False:\n",
        (f"{_INPUTS}::test_a_dry_run_lists_what_would_be_done_and_writes_nothing",),
    ),
    Mutant(
        "a quiet run is not quiet",
        "app/commands/stylize/reporters/terminal.py",
        "        if self._loudness is not Loudness.QUIET:\n",
        "        if True:\n",
        (f"{_INPUTS}::test_quiet_says_errors_alone_and_verbose_a_line_for_each_picture",),
    ),
    Mutant(
        "shards depend on the order in which a folder is listed",
        "app/batch/shard.py",
        "by_name = sorted(range(len(items)), key=names.__getitem__)",
        "by_name = list(range(len(items)))",
        (f"{_SHARD}::test_the_order_in_which_a_folder_is_listed_changes_no_shard",),
    ),
    Mutant(
        "every process of a machine takes its first GPU",
        "app/batch/run.py",
        "{local % torch.cuda.device_count()}",
        "{0 * local}",
        (f"{_SHARDS}::test_processes_of_one_machine_share_its_gpus",),
    ),
    Mutant(
        "a shard that is missing is not noticed",
        "app/commands/merge_manifests.py",
        "    if lost:\n",
        "    if False:\n",
        (f"{_SHARDS}::test_what_is_missing_is_named_with_its_reason",),
    ),
    Mutant(
        "a result is taken for that of a picture that has changed since",
        "app/batch/manifest.py",
        "            and _source_of(before) == _source_of(now)\n",
        "",
        (f"{_MANIFEST}::test_a_run_that_goes_on_keeps_what_it_made_unless_a_file_has_changed",),
    ),
    Mutant(
        "another file is replaced by a manifest",
        "app/batch/manifest.py",
        "read_manifest(self.path).entries if os.path.lexists(self.path) else ()",
        "()",
        (f"{_SHARDS}::test_a_file_that_is_no_manifest_is_not_overwritten",),
    ),
    Mutant(
        "a job is run again by a process that saw it before it was done",
        "app/batch/queue/job_queue.py",
        "yield self._taken(number)",
        "yield self.get(number)",
        (f"{_JOBS}::test_processes_that_run_at_once_do_no_job_twice",),
    ),
    Mutant(
        "two processes that add a job at once give it one number",
        "app/batch/queue/job_queue.py",
        'with locked(self._root / "queue", PATIENCE_S, keep=True):',
        "if True:",
        (f"{_JOBS}::test_processes_that_add_at_once_lose_nothing",),
        breaks=("QueueError",),
    ),
    Mutant(
        "a job that kills every process is begun for ever",
        "app/batch/queue/job_queue.py",
        "if job.attempts >= MOST_ATTEMPTS:",
        "if False:",
        (f"{_JOBS}::test_a_job_that_takes_every_process_with_it_fails_at_last",),
    ),
    Mutant(
        "a job that was killed finds its own results in its way",
        "app/commands/queue/runner.py",
        "resume=manifest.is_file()",
        "resume=False",
        (f"{_QUEUE}::test_a_job_whose_process_is_killed_goes_on_where_it_was",),
    ),
    Mutant(
        "Ctrl+C counts as a death of the process",
        "app/commands/queue/runner.py",
        "                told(queue.put_back(job))\n",
        "",
        (f"{_QUEUE}::test_ctrl_c_has_the_job_wait_again",),
    ),
    Mutant(
        "a job writes into the folder in which it is run",
        "app/commands/queue/arguments.py",
        "        return str(value.absolute())\n",
        "        return str(value)\n",
        (f"{_QUEUE}::test_a_job_means_the_same_in_every_folder",),
    ),
    Mutant(
        "a picture is taken while it is still being copied",
        "app/batch/queue/watched_folder.py",
        "            and self._before.get(path) == stamp\n",
        "",
        (f"{_WATCHED}::test_a_picture_is_given_once_and_again_when_it_has_changed",),
    ),
    Mutant(
        "a Stylist calls itself, which waits for ever within Ray Data",
        "app/stylist.py",
        "self._arranged(given[self._column])}",
        "self(given[self._column])}",
        (f"{_STYLIST}::test_a_subclass_may_let_one_call_wait_for_the_one_before",),
    ),
    Mutant(
        "pictures of another size are put into the batch",
        "app/stylist.py",
        "if each.shape != rest[0].shape",
        "if False",
        (f"{_STYLIST}::test_pictures_of_several_sizes_keep_their_order",),
    ),
    Mutant(
        "a line of help is taken for a request of roff",
        "app/commands/man.py",
        """if text.startswith((".", "'"))""",
        "if False",
        (f"{_MAN}::test_text_is_no_request_and_no_escape_of_roff",),
    ),
    Mutant(
        "values of flags are not completed",
        "app/commands/parser_tree.py",
        "    if action.choices is not None:\n",
        "    if False:\n",
        (f"{_COMPLETION}::test_commands_flags_choices_and_styles_are_completed",),
    ),
    Mutant(
        "a file that was queued once counts, whatever replaced it",
        "app/batch/queue/watched_folder.py",
        'if queued.get(str(path), "") not in (stamp, None)]',
        "if str(path) not in queued]",
        (
            "tests/app/batch/queue/test_watched_folder.py::"
            "test_a_file_is_queued_once_whatever_its_time_and_again_when_an_older_one_replaces_it",
        ),
    ),
)
