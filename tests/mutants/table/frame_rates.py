"""Mutants of predicted and measured frame rates."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_WEBGPU = "tests/app/commands/test_webgpu_rates.py::"

MUTANTS = (
    Mutant(
        "a prediction shares the tiles evenly among the multiprocessors",
        "kernels/time_model/prediction.py",
        "tiles = launch.most_tiles(card.multiprocessors)",
        "tiles = launch.tiles / card.multiprocessors",
        (
            "tests/kernels/time_model/test_prediction.py"
            "::test_the_multiprocessor_with_the_most_tiles_decides",
        ),
    ),
    Mutant(
        "layers for GPUs with less shared memory are launched as if there was more",
        "kernels/network/sm80.py",
        "available = min(available, SMALL_SHARED_BYTES)",
        "available = max(available, SMALL_SHARED_BYTES)",
        (
            "tests/kernels/time_model/test_work.py"
            "::test_layers_for_less_shared_memory_do_with_100_kb_on_every_card",
        ),
    ),
    Mutant(
        "a measured frame rate counts with every driver",
        "app/measured_rates.py",
        "return cls(torch.cuda.get_device_name(device), driver_version(), styleforge_version())",
        'return cls(torch.cuda.get_device_name(device), "", styleforge_version())',
        (
            "tests/app/test_measured_rates.py"
            "::test_a_time_of_another_gpu_driver_or_version_does_not_count",
        ),
    ),
    Mutant(
        "a predicted frame rate is told although another was measured",
        "app/commands/card_rates.py",
        "if rate is not None:",
        "if False:",
        (
            "tests/app/commands/test_card_rates.py"
            "::test_a_measured_rate_takes_the_place_of_the_predicted_one",
        ),
    ),
    Mutant(
        "the model of time is checked against times that it was fitted to",
        "benchmarks/time_model/files.py",
        'fit([one for row, one in rows if row["all"]], told)',
        "fit([one for _, one in rows], told)",
        (
            "tests/benchmarks/time_model/test_fit.py"
            "::test_times_on_fewer_multiprocessors_take_no_part_in_the_fit",
        ),
    ),
    Mutant(
        "a GPU's times through WebGPU count as those through CUDA",
        "app/measured_rates.py",
        'name = f"{adapter.name} by {adapter.backend}"',
        "name = adapter.name",
        (f"{_WEBGPU}test_a_gpu_has_other_times_through_webgpu_than_through_cuda",),
    ),
    Mutant(
        "a slow GPU computes the layers of a picture in one submission",
        "app/commands/webgpu_rates.py",
        "if first > SLOW_MS:",
        "if False:",
        (f"{_WEBGPU}test_a_slow_gpu_is_timed_by_few_whole_pictures",),
    ),
    Mutant(
        "the report of a GPU calls wrong shaders right",
        "app/commands/webgpu_rates.py",
        'verdict = "right" if decibels >= RIGHT_DB else "WRONG"',
        'verdict = "right"',
        (f"{_WEBGPU}test_wrong_shaders_are_told",),
    ),
    Mutant(
        "doctor shows WebGPU's predictions beside CUDA's rates",
        "app/commands/doctor.py",
        "if measured or not only_measured:",
        "if True:",
        (f"{_WEBGPU}test_on_an_nvidia_gpu_only_measured_rates_are_told",),
    ),
    Mutant(
        "a GPU that fails while it is measured ends in wgpu's words",
        "app/commands/webgpu_rates.py",
        'raise CardRatesError(f"measuring {adapter.name} through',
        'raise ValueError(f"measuring {adapter.name} through',
        (f"{_WEBGPU}test_a_gpu_that_fails_is_one_sentence",),
    ),
)
