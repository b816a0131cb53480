"""Mutants of training."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PART = "tests/models/training/test_vgg_part.py"
_DOWNLOAD = "models/training/download"

MUTANTS = (
    Mutant(
        "the weave loss is left out of what is learned",
        "models/training/run.py",
        "loss = loss + config.weave_weight * weave",
        "loss = loss + 0 * weave",
        ("tests/models/training/test_weave.py::test_the_weave_loss_is_learned",),
    ),
    Mutant(
        "grain without a direction is taken for a mesh",
        "models/training/losses.py",
        "LENGTH = 9",
        "LENGTH = 1",
        ("tests/models/training/test_weave.py::test_grain_without_a_direction_is_hardly_a_mesh",),
    ),
    Mutant(
        "the checkpoint before the newest is not kept",
        "models/training/checkpoint.py",
        "if path.is_file():\n            _keep_as_previous(path)",
        "if False:\n            _keep_as_previous(path)",
        (
            "tests/models/training/test_resuming.py::"
            "test_a_damaged_checkpoint_is_replaced_before_the_next_is_written",
        ),
    ),
    Mutant(
        "the checksums of a training checkpoint are not compared",
        "models/training/checkpoint.py",
        "if altered:",
        "if False:",
        (
            "tests/models/training/test_resuming.py::"
            "test_a_damaged_checkpoint_is_replaced_before_the_next_is_written",
        ),
    ),
    Mutant(
        "a run goes on without the moments of its optimizer",
        "models/training/saved_run.py",
        '| {"state": moments})',
        '| {"state": {}})',
        (
            "tests/models/training/test_run.py::"
            "test_a_resumed_run_ends_bit_equal_to_one_never_stopped",
        ),
    ),
    Mutant(
        "a run is resumed with other settings",
        "models/training/saved_run.py",
        "if theirs.get(name) != value",
        "if False",
        ("tests/models/training/test_run.py::test_a_run_is_not_resumed_with_other_settings",),
        breaks=("resumes",),
    ),
    Mutant(
        "the layers may come from two versions of VGG-19's file",
        f"{_DOWNLOAD}/remote_file.py",
        "if (size, version) != (self._size, self._version):",
        "if False:",
        (f"{_PART}::test_a_file_that_changes_in_between_is_refused",),
    ),
    Mutant(
        "more of VGG-19's file is read than the layers in use",
        f"{_DOWNLOAD}/saved_tensors.py",
        "HEAD_BYTES = 1 << 14",
        "HEAD_BYTES = 1 << 18",
        (f"{_PART}::test_no_more_than_the_head_and_the_layers_is_transferred",),
    ),
    Mutant(
        "a known checksum of a layer is not compared",
        f"{_DOWNLOAD}/vgg_part.py",
        "if sha256 is not None and",
        "if False and",
        (f"{_PART}::test_known_checksums_prove_the_part_and_refuse_another",),
        breaks=("TrainingError", "vgg"),
    ),
    Mutant(
        "a part that was damaged later is trained with",
        f"{_DOWNLOAD}/vgg_part.py",
        "if hashlib.sha256(data).hexdigest() == stated:",
        "if True:",
        (f"{_PART}::test_a_part_that_was_damaged_later_is_deleted_with_a_sentence",),
    ),
    Mutant(
        "a part is called proven without a checksum for every layer",
        f"{_DOWNLOAD}/vgg_part.py",
        "return set(layers) <= set(hashes)",
        "return bool(hashes)",
        (f"{_PART}::test_known_checksums_prove_the_part_and_refuse_another",),
    ),
    Mutant(
        "a trained style has no fast version",
        "app/training/controller.py",
        "if not run.trains_lite or self._finish_asked:",
        "if True:",
        (
            "tests/app/training/test_versions.py::"
            "test_both_versions_are_in_one_pack_and_a_first_impression_comes_before_training",
        ),
    ),
    Mutant(
        "the first impression is the same for every painting",
        "app/commands/train/previews.py",
        "painter.code.copy_(network.encode(style).values)",
        "painter.code.zero_()",
        (
            "tests/app/training/test_versions.py::"
            "test_the_any_style_network_paints_the_first_impression",
        ),
    ),
    Mutant(
        "a run forgets that its fast version is left",
        "app/training/run_store.py",
        'lite = "-lite" if self.trains_lite else ""',
        'lite = ""',
        (
            "tests/app/training/test_versions.py::"
            "test_a_run_remembers_that_its_fast_version_is_left",
        ),
    ),
    Mutant(
        "ending a training early throws away what was learned",
        "app/training/controller.py",
        "self._finish_asked = True\n            self._process.stop()",
        "self._cancelled = True\n            self._process.stop()",
        ("tests/app/training/test_versions.py::test_what_was_learned_so_far_becomes_a_style",),
    ),
    Mutant(
        "the user's pictures are read without being asked for",
        "app/ui/training/own_pictures.py",
        "if self.allowed:",
        "if True:",
        (
            "tests/app/training/test_own_pictures.py::"
            "test_the_pictures_folder_is_read_only_when_allowed_and_asked_for_once",
        ),
    ),
    Mutant(
        "the style learns on results of StyleForge",
        "models/training/data.py",
        "parts[:-1][:1] != (skip_folder,)",
        "parts[:0] != (skip_folder,)",
        ("tests/app/training/test_own_pictures.py::test_results_of_styleforge_are_no_photographs",),
    ),
    Mutant(
        "the whole file of VGG-19 is downloaded unasked",
        "app/training/process.py",
        'self._vgg_download = "layers"',
        'self._vgg_download = "whole"',
        (
            "tests/app/training/test_download.py::"
            "test_the_whole_file_is_downloaded_only_when_that_is_agreed",
        ),
    ),
)
