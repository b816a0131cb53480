"""Mutants of wheels."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PLATFORMS = "tests/wheels/test_platforms.py"

MUTANTS = (
    Mutant(
        "a wheel holds the CPU images of every platform",
        "wheels/platforms.py",
        'cpu = {name for name in made if f"-{wanted.images}" in name}',
        'cpu = {name for name in made if "-" in name}',
        (f"{_PLATFORMS}::test_a_wheel_holds_its_images_and_lists_no_others",),
    ),
    Mutant(
        "a wheel is made of images of other sources",
        "tools/build_wheels.py",
        "if found.digest != library.digest:",
        "if False:",
        (f"{_PLATFORMS}::test_images_of_other_sources_than_todays_are_refused",),
    ),
    Mutant(
        "`gpu --dry-run` installs",
        "app/commands/gpu.py",
        "if args.dry_run:",
        "if False:",
        ("tests/app/commands/test_gpu.py::test_a_dry_run_prints_the_command_and_runs_nothing",),
    ),
    Mutant(
        "`gpu` is content with a PyTorch that still uses no GPU",
        "app/commands/gpu.py",
        "if not after.gpu:",
        "if False:",
        ("tests/app/commands/test_gpu.py::test_what_went_wrong_is_one_sentence",),
    ),
    Mutant(
        "`doctor` recommends a compiler where images make it needless",
        "app/commands/doctor.py",
        "if lacking:",
        "if True:",
        (
            "tests/app/commands/test_doctor.py::test_a_compiler_is_recommended_only_where_a_library_lacks_one",
        ),
    ),
)
