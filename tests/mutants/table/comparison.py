"""Mutants of the comparison of two networks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COMPARED = "tests/app/engine/test_comparison.py"
_SUITE = "tests/benchmarks/network/test_cpu_suite.py"

MUTANTS = (
    Mutant(
        "two pictures always agree, whatever their largest difference",
        "models/precision.py",
        'return difference <= bound, f"largest',
        'return True, f"largest',
        ("tests/models/test_precision.py::test_pictures_agree_up_to_the_bound_and_not_beyond",),
    ),
    Mutant(
        "two pictures always agree, whatever their PSNR",
        "models/precision.py",
        "return psnr >= self.value.min_psnr, f",
        "return True, f",
        ("tests/models/test_precision.py::test_pictures_agree_up_to_the_bound_and_not_beyond",),
    ),
    Mutant(
        "a comparison always says that its pictures differ by 0",
        "app/engine/comparison.py",
        "difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)",
        "difference, psnr = 0.0, min(p for _, p in apart)",
        (f"{_COMPARED}::test_a_comparison_measures_how_far_the_two_pictures_are_apart",),
    ),
    Mutant(
        "the two networks of a comparison never take turns in going first",
        "app/engine/comparison.py",
        "self._baseline_first = not self._baseline_first",
        "self._baseline_first = True",
        (f"{_COMPARED}::test_the_networks_of_a_comparison_take_turns_in_going_first",),
    ),
    Mutant(
        "the first frame of a comparison, which only warms up, is timed",
        "app/engine/comparison.py",
        "else:\n            for kept",
        "if True:\n            for kept",
        (f"{_COMPARED}::test_comparing_shows_both_pictures_their_paces_and_the_ratio",),
    ),
    Mutant(
        "a ratio is given although the pictures differ",
        "app/engine/result.py",
        "/ self.fused_latency.median if self.agrees else None",
        "/ self.fused_latency.median",
        (f"{_COMPARED}::test_the_ratio_is_withheld_when_the_pictures_differ",),
    ),
    Mutant(
        "figures of pictures that agreed stay on screen once they differ",
        "app/ui/viewport/viewport.py",
        " or kept.agrees != newest.agrees:",
        ":",
        ("tests/app/ui/widgets/test_viewport.py::test_a_ratio_is_withheld_at_once",),
    ),
    Mutant(
        "`bench` reports a difference of 0",
        "benchmarks/network/measure.py",
        '"difference": difference,',
        '"difference": 0.0,',
        ("tests/app/commands/test_bench.py::test_a_network_that_errs_has_its_error_told",),
    ),
    Mutant(
        "`bench` reports a PSNR of 99 dB",
        "benchmarks/network/measure.py",
        '"psnr": psnr if math.isfinite(psnr) else None,',
        '"psnr": 99.0,',
        ("tests/app/commands/test_bench.py::test_a_network_that_errs_has_its_error_told",),
    ),
    Mutant(
        "the suite of a processor counts our own layers among the others",
        "benchmarks/tables/cpu.py",
        "if key not in (FUSED, BY_LAYERS)]",
        "if key != FUSED]",
        (f"{_SUITE}::test_ours_is_compared_with_the_fastest_other_and_with_the_way_before",),
    ),
    Mutant(
        "the suite of a processor compares the native network with itself",
        "benchmarks/network/cpu/variants.py",
        "return TransformerNetBaseline.forward(self, x, mark)",
        "return super().forward(x, mark)",
        (f"{_SUITE}::test_the_way_before_runs_no_layer_of_the_native_network",),
    ),
    Mutant(
        "a layer's floor counts a third of its products",
        "kernels/network/cpu/work.py",
        "CELL_FIRST * cells * full * 3 * outer",
        "CELL_FIRST * cells * full * outer",
        (f"{_SUITE}::test_products_are_a_third_of_a_direct_convolution",),
    ),
)
