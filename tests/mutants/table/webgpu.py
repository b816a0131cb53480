"""Mutants of the engine on a GPU that WebGPU reaches."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENGINE = "tests/app/engine/test_webgpu.py::"
_RATES = "tests/app/engine/test_webgpu_rates.py::"
_TUNING = "tests/app/engine/test_webgpu_tuning.py::"
_MIXING = "tests/kernels/network/webgpu/test_mixing.py::"
_BENCH = "tests/app/commands/test_bench_webgpu.py::"
_WINDOW = "tests/app/ui/window/test_gpu.py::"

MUTANTS = (
    Mutant(
        "a GPU that failed is opened again for each frame",
        "app/engine/engine/webgpu.py",
        "if reason := given_up(device):",
        'if reason := "":',
        (f"{_ENGINE}test_a_failing_gpu_is_given_up_with_its_reason",),
    ),
    Mutant(
        "a frame is lost with its GPU",
        "app/engine/engine/engine.py",
        "return [self.process(each.frame, each.mode) for each in pending.batch]",
        "return []",
        (f"{_ENGINE}test_the_cpu_goes_on_when_the_gpu_is_lost",),
    ),
    Mutant(
        "a still on the GPU is painted to its end",
        "app/engine/network_pool.py",
        "        between(share)\n        others +=",
        "        others +=",
        (f"{_ENGINE}test_a_still_on_the_gpu_is_given_up_between_pieces",),
    ),
    Mutant(
        "a stream waits for shaders",
        "app/engine/engine/webgpu.py",
        "inferred.mode is ProcessMode.LIVE and",
        "False and",
        (f"{_ENGINE}test_the_cpu_paints_a_stream_while_shaders_compile",),
    ),
    Mutant(
        "networks without shaders do not say why the CPU runs them",
        "app/engine/engine/preparation.py",
        "elsewhere=reason)",
        'elsewhere="")',
        (f"{_ENGINE}test_networks_without_shaders_run_on_the_cpu_with_the_reason",),
    ),
    Mutant(
        "the baseline of a comparison computes in FP16 on the CPU",
        "app/engine/engine/inference.py",
        "precision = active.family.computed(kernels, precision, device)",
        "pass",
        (f"{_ENGINE}test_a_comparison_in_fp16_has_a_baseline_in_fp32",),
    ),
    Mutant(
        "the panel lists software GPUs",
        "app/engine/painting_devices.py",
        "if not each.software",
        "if each",
        (f"{_ENGINE}test_software_gpus_are_used_only_by_name",),
    ),
    Mutant(
        "Automatic takes a GPU that is slower",
        "app/engine/webgpu_rates.py",
        "if rate.gain > 1:",
        "if rate.gain > 0:",
        (f"{_RATES}test_automatic_leaves_a_slower_gpu_and_says_so",),
    ),
    Mutant(
        "a rate of an older driver counts",
        "app/engine/webgpu_rates.py",
        "return (self.gpu, self.backend, self.driver, self.styleforge) == there",
        "return self.gpu == adapter.name",
        (f"{_RATES}test_a_rate_of_other_conditions_does_not_count",),
    ),
    Mutant(
        "networks ignore the tiles that were kept",
        "models/webgpu/tuning.py",
        "return kept.network or network",
        "return network",
        (f"{_TUNING}test_tuning_keeps_the_faster_tile_and_the_picture",),
    ),
    Mutant(
        "a mix on the GPU keeps its first shares",
        "kernels/network/webgpu/mixing.py",
        "self._device.write(self._shares, np.asarray(shares, np.float32))",
        "pass",
        (f"{_MIXING}test_a_mix_on_the_gpu_paints_as_mixed_weights",),
    ),
    Mutant(
        "bench takes a precision that shaders lack",
        "app/commands/bench_webgpu.py",
        "if name not in PRECISIONS]:",
        "if not name]:",
        (f"{_BENCH}test_a_precision_that_shaders_lack_is_refused",),
        breaks=("WebGpuBenchError",),
    ),
    Mutant(
        "trying a GPU again changes nothing",
        "models/webgpu_devices.py",
        "_lost.clear()",
        "pass",
        (
            f"{_WINDOW}test_a_failing_gpu_leaves_the_picture_to_the_processor_and_can_be_tried_again",
        ),
    ),
)
