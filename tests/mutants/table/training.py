"""Mutants of training."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

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
        "models/training/weave.py",
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
        "models/training/run.py",
        '| {"state": moments})',
        '| {"state": {}})',
        (
            "tests/models/training/test_run.py::"
            "test_a_resumed_run_ends_bit_equal_to_one_never_stopped",
        ),
    ),
    Mutant(
        "a run is resumed with other settings",
        "models/training/run.py",
        "if theirs.get(name) != value",
        "if False",
        ("tests/models/training/test_run.py::test_a_run_is_not_resumed_with_other_settings",),
    ),
)
