"""Mutants of the promises on pages: README, SECURITY and the manual."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_BOUNDS = ("tests/docs/test_bounds.py",)
_REGULAR = "tests/utils/files/test_regular.py"

# By page: the fault, the file, the line of the bound, and another bound.
_OTHER_BOUNDS = {
    ".github/SECURITY.md": (
        ("larger checkpoints are read", "models/checkpoints.py", "= 100 << 20", "= 101 << 20"),
        (
            "a larger style.toml is read",
            "utils/files/toml.py",
            "MAX_BYTES = 1 <<",
            "MAX_BYTES = 2 <<",
        ),
        ("larger frames are decoded", "utils/opencv.py", "= 50_000_000", "= 60_000_000"),
        ("larger parts of a stream are read", "app/sources/web.py", "= 64 << 20", "= 65 << 20"),
    ),
    "docs/reference/manual.md": (
        ("larger pictures are opened", "utils/images/opening.py", "= 200_000_000", "= 250_000_000"),
        (
            "a recording has longer pauses",
            "app/export/video_recorder.py",
            "GAP_S = 2.0",
            "GAP_S = 9.0",
        ),
        (
            "an arrow key goes further",
            "app/ui/main_window/commands.py",
            "SEEK_S = 5.0",
            "SEEK_S = 9.0",
        ),
        ("previews are older", "app/live/previews/painter.py", "RENEW_S = 10.0", "RENEW_S = 90.0"),
        ("a fade takes longer", "app/ui/showing/slideshow.py", "FADE_S = 2.0", "FADE_S = 3.0"),
        (
            "a style is shown longer",
            "app/settings.py",
            "slideshow_seconds: float = 10",
            "slideshow_seconds: float = 20",
        ),
    ),
    "docs/how-to/installing.md": (
        ("a larger wheel is built", "tools/build_wheels.py", "= 60_000_000", "= 80_000_000"),
    ),
    "docs/reference/files.md": (
        ("more old logs stay", "app/diagnostics/log_file.py", "OLD_FILES = 2", "OLD_FILES = 3"),
    ),
    "docs/how-to/films.md": (
        (
            "parts of films are longer",
            "app/export/film/parts/request.py",
            "PART = 240",
            "PART = 250",
        ),
        ("devices share shorter parts", "app/export/film/parts/split.py", "= 48  #", "= 24  #"),
    ),
    "docs/reference/serve.md": (
        (
            "a header may take longer",
            "app/server/connections.py",
            "HEADER_S = 10.0",
            "HEADER_S = 60.0",
        ),
        ("more connections are there", "app/server/connections.py", "MOST = 1024", "MOST = 2048"),
    ),
    "docs/reference/command-line.md": (
        ("a folder is looked at less", "app/commands/queue/command.py", "_S = 2.0", "_S = 20.0"),
    ),
    "docs/how-to/export.md": (
        (
            "smaller pictures are exported",
            "models/pictures.py",
            "MIN_SIDE = 16",
            "MIN_SIDE = 8",
        ),
    ),
    "docs/explanation/kernels.md": (
        (
            "motion is measured in larger copies",
            "kernels/frames/noise.py",
            "TRACKED = 128 ",
            "TRACKED = 256 ",
        ),
    ),
    "docs/decisions/winograd-on-the-cpu.md": (
        (
            "styles keep more transforms",
            "models/inference/style_state.py",
            "= 128 << 20",
            "= 256 << 20",
        ),
    ),
    "docs/reference/kernel_fusion/attention-operations.md": (
        (
            "fewer queries are multiplied",
            "kernels/ops/general/attention/product.py",
            "MOST_DEPTH = 64,",
            "MOST_DEPTH = 32,",
        ),
        (
            "wider heads are multiplied",
            "kernels/ops/general/attention/product.py",
            "MOST_DEPTH = 64, 256",
            "MOST_DEPTH = 64, 512",
        ),
    ),
    "docs/reference/kernel_fusion/linear-and-convolution.md": (
        (
            "a part has fewer rows",
            "kernels/ops/general/linear/api.py",
            "PART = 2048",
            "PART = 1024",
        ),
    ),
    "docs/reference/kernel_fusion/loss.md": (
        (
            "a chunk has fewer rows",
            "kernels/ops/general/loss/linear.py",
            "FEWEST_ON_CPU = 512,",
            "FEWEST_ON_CPU = 256,",
        ),
        (
            "a chunk has fewer rows on the CPU",
            "kernels/ops/general/loss/linear.py",
            "= 512, 1024",
            "= 512, 512",
        ),
    ),
    "docs/reference/kernel_fusion/library-benchmarks.md": (
        (
            "slow operations run less often",
            "benchmarks/operations/ways.py",
            "LEAST_RUNS = 5",
            "LEAST_RUNS = 3",
        ),
        (
            "fast operations run more often",
            "benchmarks/operations/command.py",
            '"cuda": 50}',
            '"cuda": 99}',
        ),
    ),
}

MUTANTS = (
    *(
        Mutant(name, file, old, new, _BOUNDS, breaks=(page,))
        for page, rows in _OTHER_BOUNDS.items()
        for name, file, old, new in rows
    ),
    Mutant(
        "five styles are mixed",
        "app/options.py",
        "MOST_MIXED = 4 ",
        "MOST_MIXED = 5 ",
        ("tests/app/engine/test_style_weights.py",),
        breaks=("docs/how-to/any-style.md",),
    ),
    Mutant(
        "a large file is read before it is refused",
        "utils/files/regular.py",
        "        if status.st_size > most:\n",
        "        if False:\n",
        (f"{_REGULAR}::test_a_file_that_is_too_large_is_refused_when_it_is_opened",),
    ),
    Mutant(
        "a file that is longer than its size is read",
        "utils/files/regular.py",
        "    if len(data) > most:",
        "    if False:",
        (f"{_REGULAR}::test_a_file_that_is_longer_than_its_size_is_refused",),
    ),
    Mutant(
        "an address reads files of this machine",
        "app/sources/web.py",
        "        urllib.request.UnknownHandler(),\n",
        "        urllib.request.UnknownHandler(),\n        urllib.request.FileHandler(),\n",
        (
            "tests/app/sources/test_hostile_servers.py::test_a_request_reads_no_file_of_this_machine",
        ),
        breaks=("addresses",),
    ),
    Mutant(
        "the time of an answer tells how much of a token is right",
        "app/server/access.py",
        "secrets.compare_digest(given.strip().encode(), token.encode())",
        "given.strip().encode() == token.encode()",
        (
            "tests/app/server/test_access.py::test_the_token_of_a_request_is_compared_in_the_same_time_wherever_it_differs",
        ),
    ),
    Mutant(
        "kept colors swap red and blue",
        "app/engine/post/blending.py",
        "cv2.cvtColor(out, cv2.COLOR_RGB2YCrCb)",
        "cv2.cvtColor(out, cv2.COLOR_BGR2YCrCb)",
        (
            "tests/app/engine/post/test_blending.py::test_keeping_colors_weighs_red_green_and_blue_as_bt_601_does",
        ),
    ),
    Mutant(
        "every network that was ever shown stays in memory",
        "app/engine/network_pool.py",
        "        if len(self._networks) > NETWORKS_KEPT:\n",
        "        if False:\n",
        (
            "tests/app/engine/test_network_pool.py::test_the_networks_used_last_stay_in_memory_and_no_others",
        ),
    ),
    Mutant(
        "sound and picture drift apart after a gap",
        "app/sound/clock.py",
        "error if abs(error) > JUMP_S else GAIN * error",
        "GAIN * error",
        ("tests/app/sound/test_clock.py::test_a_small_error_is_followed_slowly_and_a_gap_at_once",),
    ),
    Mutant(
        "a training run that another window begins is deleted",
        "app/training/run_store.py",
        "            if time.time() - path.stat().st_mtime > STALE_AFTER_S:\n",
        "            if True:\n",
        (
            "tests/app/training/test_run_store.py::test_a_folder_that_is_being_made_is_deleted_only_after_a_day",
        ),
    ),
)
