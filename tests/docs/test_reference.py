"""The reference is built from the docstrings without a warning, and covers every module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "benchmarks", "models", "kernels", "kernel_fusion", "utils")

pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")


@pytest.mark.full
@pytest.mark.slow
def test_the_pages_are_built_strictly_and_name_every_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "md-" not in (tmp_path / "try" / "index.html").read_text("utf-8")
    pages = "".join(
        page.read_text("utf-8") for page in (tmp_path / "reference" / "packages").glob("*.html")
    )
    modules = [
        path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path.stat().st_size
    ]
    assert len(modules) > 100
    for path in modules:
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] != "__main__":
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            assert f'id="{name}"' in pages
