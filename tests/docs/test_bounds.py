"""Every bound on a page matches the bound in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.batch.cluster.team import TOGETHER
from app.commands.queue.command import INTERVAL_S
from app.diagnostics import log_file
from app.export.film.parts import split
from app.export.film.parts.request import PART
from app.export.video_recorder import MAX_GAP_S
from app.live.previews.painter import RENEW_S
from app.server import connections
from app.settings import Settings
from app.sources.web import MAX_PART_BYTES
from app.ui.main_window.commands import SEEK_S
from app.ui.showing.slideshow import FADE_S
from benchmarks.operations.command import RUNS
from benchmarks.operations.ways import LEAST_RUNS
from kernels.frames.noise import TRACKED
from kernels.ops.general.attention import product
from kernels.ops.general.linear.api import PART as ROWS_OF_PART
from kernels.ops.general.loss import linear
from models import checkpoints
from models.inference import style_state
from models.pictures import MIN_SIDE
from tools.build_wheels import MAX_BYTES as MOST_OF_A_WHEEL
from utils import opencv
from utils.files import toml
from utils.images import opening

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
WORDS = {"two": 2, "five": 5, "ten": 10}

# The page, the words around the number, and the number.
BOUNDS = {
    "checkpoint": (
        ".github/SECURITY.md",
        r"regular files of at most (\d+) MB",
        checkpoints.MAX_BYTES // MIB,
    ),
    "style.toml": (
        ".github/SECURITY.md",
        r"`style\.toml` is at most (\d+) MB",
        toml.MAX_BYTES // MIB,
    ),
    "frame": (".github/SECURITY.md", r"decoded: (\d+) megapixels", opencv.MAX_PIXELS // 10**6),
    "part": (".github/SECURITY.md", r"(\d+) MB for each part", MAX_PART_BYTES // MIB),
    "picture": (
        "docs/reference/manual.md",
        r"may have up to (\d+) megapixels",
        opening.MAX_PIXELS // 10**6,
    ),
    "log": (
        "docs/reference/files.md",
        r"at most (\d+) MB of it",
        log_file.MAX_BYTES * (1 + log_file.OLD_FILES) // MIB,
    ),
    "wheel": ("docs/how-to/installing.md", r"refused above (\d+) MB", MOST_OF_A_WHEEL // 10**6),
    "transforms": (
        "docs/decisions/winograd-on-the-cpu.md",
        r"keep at most (\d+) MB",
        style_state.MOST_BYTES // MIB,
    ),
    "part of a film": (
        "docs/decisions/films-in-parts.md",
        r"Each part of (\d+) frames",
        PART,
    ),
    "part of a film on one device": (
        "docs/how-to/films.md",
        r"is made in parts of (\d+) frames",
        PART,
    ),
    "part of a film on several": (
        "docs/how-to/films.md",
        r"parts of (\d+) frames or more",
        split.SHORTEST,
    ),
    "pause": (
        "docs/reference/manual.md",
        r"Pauses of more than (\w+) seconds are cut out",
        MAX_GAP_S,
    ),
    "step in a video": ("docs/reference/manual.md", r"picture; (\d+) seconds in a video", SEEK_S),
    "preview": ("docs/reference/manual.md", r"are painted again after (\d+) seconds", RENEW_S),
    "slideshow": (
        "docs/reference/manual.md",
        r"shows every style for (\w+) seconds",
        Settings().slideshow_seconds,
    ),
    "fade": ("docs/reference/manual.md", r"as the machine computes in (\w+) seconds", FADE_S),
    "header": ("docs/reference/serve.md", r"has (\d+) s for the header", connections.HEADER_S),
    "connections": (
        "docs/reference/serve.md",
        r"keeps at most (\d+) connections",
        connections.MOST,
    ),
    "look at a folder": (
        "docs/reference/command-line.md",
        r"from one look to the next, (\w+) seconds later",
        INTERVAL_S,
    ),
    "task of a cluster": (
        "docs/how-to/many-machines.md",
        r"gives tasks of (\d+) pictures",
        TOGETHER,
    ),
    "side of a picture": (
        "docs/how-to/export.md",
        r"Height and width are at least (\d+)",
        MIN_SIDE,
    ),
    "copy for motion": (
        "docs/explanation/kernels.md",
        r"gray copy of at most (\d+) pixels a side",
        TRACKED,
    ),
    "queries": (
        "docs/reference/kernel_fusion/attention-operations.md",
        r"runs with at least (\d+) queries and keys",
        product.FEWEST,
    ),
    "head": (
        "docs/reference/kernel_fusion/attention-operations.md",
        r"and heads of up to (\d+)",
        product.MOST_DEPTH,
    ),
    "rows of a part": (
        "docs/reference/kernel_fusion/linear-and-convolution.md",
        r"parts of at least ([\d,]+) rows",
        ROWS_OF_PART,
    ),
    "rows of a chunk": (
        "docs/reference/kernel_fusion/loss.md",
        r"at least (\d+) rows, or",
        linear.FEWEST_ROWS,
    ),
    "rows of a chunk on the CPU": (
        "docs/reference/kernel_fusion/loss.md",
        r"or ([\d,]+) on the CPU;",
        linear.FEWEST_ON_CPU,
    ),
    "fewest runs": (
        "docs/reference/kernel_fusion/library-benchmarks.md",
        r"but at least (\w+) and at most",
        LEAST_RUNS,
    ),
    "most runs": (
        "docs/reference/kernel_fusion/library-benchmarks.md",
        r"and at most (\d+) runs",
        RUNS["cuda"],
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_page_states_the_bound_of_the_code(name):
    page, words, bound = BOUNDS[name]
    text = " ".join((ROOT / page).read_text("utf-8").split())
    found = re.findall(words, text)
    assert [WORDS.get(n) or int(n.replace(",", "")) for n in found] == [bound]
