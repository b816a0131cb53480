"""Mutants of tuned layers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TUNED = "tests/kernels/network/test_tuned.py"
_SWEEP = "tests/kernels/tuning/test_sweep.py"

MUTANTS = (
    Mutant(
        "layers that were tuned with other sources are used",
        "kernels/network/tuned.py",
        "if self.digest != digest:",
        "if False:",
        (f"{_TUNED}::test_layers_of_other_sources_or_cards_are_not_used_and_the_reason_is_told",),
    ),
    Mutant(
        "tuned layers are used whatever the self-test said",
        "kernels/network/tuned.py",
        "why = found.unfit(card, capability, images.digest) or verdict(card)",
        "why = found.unfit(card, capability, images.digest)",
        (f"{_TUNED}::test_layers_that_failed_the_test_are_not_used_and_the_reason_is_told",),
    ),
    Mutant(
        "a self-test counts for what was stored after it",
        "kernels/network/tuned.py",
        'return str(note["reason"]) if note["key"] == _key(card) else NOT_TESTED',
        'return str(note["reason"])',
        (f"{_TUNED}::test_a_verdict_is_of_the_file_that_was_tested",),
    ),
    Mutant(
        "layers that were tuned for one size run all of them",
        "kernels/network/abi.py",
        "return min(found, key=lambda row: abs(math.log(pixels / row.pixels))).layers",
        "return found[0].layers",
        (f"{_TUNED}::test_pictures_are_styled_by_the_layers_that_were_tuned_for_the_nearest_size",),
    ),
    Mutant(
        "a candidate wins by less than its times scatter",
        "kernels/tuning/sweep.py",
        "if times.ratio < 1 - max(LEAST_GAIN, times.spread):",
        "if times.ratio < 1 - LEAST_GAIN:",
        (f"{_SWEEP}::test_what_is_faster_by_less_than_the_scatter_does_not_win",),
        breaks=("docs/how-to/tuning.md",),
    ),
    Mutant(
        "a candidate that stores other values is timed",
        "kernels/tuning/sweep.py",
        "            if wrong:\n",
        "            if False:\n",
        (f"{_SWEEP}::test_a_candidate_that_stores_other_values_is_skipped",),
    ),
)
