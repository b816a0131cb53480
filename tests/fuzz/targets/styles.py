"""Style packs: installed, adopted, and found in the user's folder."""

from __future__ import annotations

import hashlib
import io
import shutil
from dataclasses import asdict
from pathlib import Path
from random import Random

import safetensors.torch
import torch
from PIL import Image

from app.engine.config import EngineConfig
from app.engine.style_weights import StyleWeights
from app.styles.library import Library
from models.transformer_net import TransformerNetBaseline
from tests.fuzz.case import Case, Fifo, Link
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import WORDS, as_toml, damaged
from tests.fuzz.targets.base import NAMES, Basis, attempt, special
from tests.fuzz.targets.checkpoints import CONFIGS
from utils.files import toml

KEY = "my_style"


class StylePacks(Basis):
    name = "styles"
    sample = 60
    memory = 1 << 29

    def prepare(self) -> None:
        torch.manual_seed(0)
        state = TransformerNetBaseline(**asdict(CONFIGS[0])).state_dict()
        made = io.BytesIO()
        Image.effect_noise((64, 48), 60).convert("RGB").save(made, "PNG")
        self._weights, self._thumbnail = safetensors.torch.save(state), made.getvalue()

    def make(self, rng: Random) -> Case:
        weights, thumbnail = self._weights, self._thumbnail
        digest = hashlib.sha256(weights).hexdigest()
        table = {
            "title": "My style",
            "credit": "somebody",
            "licence": "CC0",
            "weights": "weights.safetensors",
            "sha256": digest,
            "thumbnail": "thumbnail.png",
        }
        if rng.random() < 0.3:
            table |= {"lite_weights": "lite.safetensors", "lite_sha256": digest}
        if rng.random() < 0.2:
            table[rng.choice(list(table))] = rng.choice((*NAMES, *WORDS))
        files: dict[str, bytes | Link | Fifo] = {
            "style.toml": as_toml(rng, table)
            if rng.random() < 0.7
            else toml.dumps(table).encode("utf-8", "replace"),
            "weights.safetensors": damaged(rng, weights) if rng.random() < 0.2 else weights,
            "thumbnail.png": damaged(rng, thumbnail) if rng.random() < 0.3 else thumbnail,
            "lite.safetensors": damaged(rng, weights) if rng.random() < 0.2 else weights,
        }
        if rng.random() < 0.15:
            files[rng.choice(list(files))] = special(rng)
        if rng.random() < 0.1:
            del files[rng.choice(list(files))]
        return Case({f"given/{KEY}/{name}": content for name, content in files.items()})

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        given = folder / "given" / KEY
        library = Library(folder / "builtin", folder / "user" / "styles")
        attempt(lambda: library.install(given), said)
        _use(library, said)
        attempt(lambda: library.install(given / "weights.safetensors", "\x1b[1mbold\n"), said)
        found = Library(folder / "builtin", folder / "given")
        said += found.broken
        _use(found, said)
        moved = folder / "moved" / KEY
        shutil.copytree(folder / "given", folder / "moved", symlinks=True, ignore=_fifos)
        attempt(lambda: library.move_in(moved), said)
        return said


def _use(library: Library, said: list[str]) -> None:
    """Load every style of `library`, then remove it."""
    for style in library.styles:
        for text in (style.title, style.credit, style.licence):
            check_shown(text)
        attempt(lambda style=style: _load(library, style.key), said)
        attempt(lambda style=style: library.remove(style.key), said)


def _load(library: Library, key: str) -> None:
    weights = StyleWeights(library)
    weights.choose(EngineConfig(style=key, device="cpu"))
    weights.active(lite=False)


def _fifos(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]
