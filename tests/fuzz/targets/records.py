"""JSON in small files: the reader itself, and files with independent rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from random import Random

from app.looks.look import Look
from app.looks.look_file import LookFile
from app.measured_rates import Machine, MeasuredRate, RatesError, load_rates
from tests.fuzz.case import Broken, Case
from tests.fuzz.mutations import as_json, value
from tests.fuzz.targets.base import Basis
from utils.files import small_json

HOSTILE = ("[" * 50_000 + "]" * 50_000, '{"a":' * 5_000 + "0" + "}" * 5_000, "1e999", "1" * 5_000)
LOOKS = [{"name": name, **Look(((name, 1.0),)).stored(), "picture": ""} for name in ("a", "b")]
MACHINE = Machine("a card", "1", "2")
RATES = [asdict(MeasuredRate(MACHINE, name, 64, 48, 1.5, "2026-01-01")) for name in ("a", "b")]


class Records(Basis):
    name = "records"
    sample = 120

    def make(self, rng: Random) -> Case:
        document = as_json(rng, {"looks": LOOKS, "rates": RATES})
        return Case(
            {
                "document.json": document,
                "looks.json": _with_a_neighbor(rng, "looks", LOOKS),
                "rates.json": _with_a_neighbor(rng, "rates", RATES),
            }
        )

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        data = (folder / "document.json").read_bytes()
        try:
            whole = small_json.loads(data)
        except small_json.SmallJsonError as exc:
            said.append(f"the document cannot be read: {exc}")
        else:
            if not small_json.is_bounded(whole):
                raise Broken("a number beyond the bounds was read")
            if small_json.loads_parts(data) != whole:
                raise Broken("a document is not the same in parts")
        looks, told = LookFile(folder / "looks.json").read()
        if told:
            said.append(told.replace(str(folder), ""))
        if {"a", "b"} - {each.name for each in looks}:
            raise Broken("a good look was lost beside another")
        try:
            rates = load_rates(folder / "rates.json")
        except RatesError as exc:
            rates = exc.found
            said.append(str(exc).replace(str(folder), ""))
        if {"a", "b"} - {each.network for each in rates}:
            raise Broken("a good rate was lost beside another")
        return said


def _with_a_neighbor(rng: Random, key: str, rows: list[dict[str, object]]) -> bytes:
    """Return a file with good rows and something else between them."""
    hostile = rng.choice(HOSTILE) if rng.random() < 0.5 else json.dumps(value(rng))
    first, last = (json.dumps(row) for row in rows)
    return f'{{"{key}": [{first}, {hostile}, {last}]}}'.encode("utf-8", "surrogatepass")
