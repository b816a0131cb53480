"""Stored measurement reports, which the page of benchmarks and added styles read."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from random import Random

from benchmarks.quality.report_file import other_styles
from benchmarks.tables import pages
from tests.fuzz.case import Broken, Case
from tests.fuzz.mutations import as_json
from tests.fuzz.targets.base import Basis, attempt

ROOT = Path(__file__).resolve().parents[3]
REPORTS = ("cpu", "live", "frames", "quality")
BLOCK = "before\n<!-- figures: report.json -->\n<!-- end of figures -->\nafter\n"


class Reports(Basis):
    name = "reports"
    sample = 80

    def prepare(self) -> None:
        self._reports = [
            json.loads((ROOT / "benchmarks" / "reports" / f"{name}.json").read_text("utf-8"))
            for name in REPORTS
        ]

    def make(self, rng: Random) -> Case:
        report = as_json(rng, rng.choice(self._reports))
        return Case({"report.json": report, "page.md": BLOCK.encode()})

    def run(self, folder: Path) -> list[str]:
        page, said = folder / "page.md", io.StringIO()
        with contextlib.redirect_stderr(said):
            status = pages.main([str(page)])
        told = said.getvalue().replace(str(folder), "").splitlines()
        if status and page.read_text("utf-8") != BLOCK:
            raise Broken("the page was not left as it is")
        if bool(status) != bool(told):
            raise Broken(f"the exit status is {status}, and it said {told}")
        report = self._reports[-1]
        attempt(lambda: other_styles(folder / "report.json", report, ["candy"]), told)
        return told
