"""The settings file, and the window's use of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from random import Random

from app.settings import Settings
from app.sources import describe
from app.styles.catalog import BUILTIN, Catalog
from app.ui.controllers.settings_mapping import (
    config_from_settings,
    settings_with_config,
    source_from_settings,
    stored_source,
)
from tests.fuzz.case import Broken, Case
from tests.fuzz.mutations import as_json
from tests.fuzz.targets.base import Basis, attempt, special


class SettingsFiles(Basis):
    name = "settings"
    sample = 150

    def prepare(self) -> None:
        self._catalog = Catalog(BUILTIN, Path("none"))

    def make(self, rng: Random) -> Case:
        values = dataclasses.asdict(Settings())
        content = special(rng) if rng.random() < 0.01 else as_json(rng, values)
        return Case({"settings.json": content})

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        settings = Settings.load(folder / "settings.json", said.append)
        said = [line.replace(str(folder), "") for line in said]
        config = config_from_settings(settings, self._catalog)
        source = source_from_settings(settings)
        attempt(lambda: describe(source), said)
        stored_source(source)
        kept = folder / "kept.json"
        settings_with_config(settings, config).save(kept)
        json.loads(kept.read_text("utf-8"))
        settings.save(kept)
        if Settings.load(kept, said.append) != settings:
            raise Broken("what was saved of the settings is not what is read again")
        return said
