"""Every bound that a page states is the bound in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.diagnostics import log_file
from app.export.film.parts.request import PART
from app.sources.web import MAX_PART_BYTES
from models import checkpoints
from tools.build_wheels import MAX_BYTES as MOST_OF_A_WHEEL
from utils import opencv
from utils.files import toml
from utils.images import opening

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20

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
    "picture": ("docs/manual.md", r"may have up to (\d+) megapixels", opening.MAX_PIXELS // 10**6),
    "log": (
        "docs/installing.md",
        r"at most (\d+) MB of it",
        log_file.MAX_BYTES * (1 + log_file.OLD_FILES) // MIB,
    ),
    "wheel": ("docs/installing.md", r"refused above (\d+) MB", MOST_OF_A_WHEEL // 10**6),
    "part of a film": ("CONTRIBUTING.md", r"Each part of (\d+) frames", PART),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_page_states_the_bound_of_the_code(name):
    page, words, bound = BOUNDS[name]
    text = " ".join((ROOT / page).read_text("utf-8").split())
    assert [int(found) for found in re.findall(words, text)] == [bound]
