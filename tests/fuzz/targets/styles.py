"""Style packs: installed, adopted, and found in the user's folder."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from random import Random

import safetensors.torch
import torch
from PIL import Image

from app.engine.config import EngineConfig
from app.engine.style_weights import StyleWeights
from app.styles.catalog import Catalog
from models.families.any_style import AnyStyleNetwork
from models.families.style_codes import StyleCode, save_code
from models.transformer_net import TransformerNetBaseline
from tests.fuzz.case import Case, Fifo, Link
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import WORDS, as_toml, damaged
from tests.fuzz.targets.base import NAMES, Basis, attempt, special
from tests.fuzz.targets.checkpoints import CONFIGS
from tests.helpers.any_style import save_tiny
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
        with tempfile.TemporaryDirectory() as folder:
            path = save_tiny(Path(folder) / "network.safetensors")
            self._network = path.read_bytes()
            shared = AnyStyleNetwork.load(path)
            code = StyleCode(torch.zeros(1, shared.config.code_dim), shared.digest)
            save_code(path, code)
            self._code, self._digest = path.read_bytes(), shared.digest.encode()

    def make(self, rng: Random) -> Case:
        any_style = rng.random() < 0.3
        weights, thumbnail = self._code if any_style else self._weights, self._thumbnail
        digest = hashlib.sha256(weights).hexdigest()
        table = {
            "title": "My style",
            "credit": "somebody",
            "licence": "CC0",
            "weights": "weights.safetensors",
            "sha256": digest,
            "thumbnail": "thumbnail.png",
        }
        if any_style:
            table |= {"family": "any-style", "picture": "picture.png"}
            if rng.random() < 0.5:  # with a digest, most damage to the code would be noticed
                del table["sha256"]
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
        if any_style:
            files["picture.png"] = damaged(rng, thumbnail) if rng.random() < 0.3 else thumbnail
            if rng.random() < 0.3:  # the code of another network
                files["weights.safetensors"] = weights.replace(self._digest, b"0" * 64)
        if rng.random() < 0.15:
            files[rng.choice(list(files))] = special(rng)
        if rng.random() < 0.1:
            del files[rng.choice(list(files))]
        given = {f"given/{KEY}/{name}": content for name, content in files.items()}
        if any_style and rng.random() < 0.8:
            network = damaged(rng, self._network) if rng.random() < 0.2 else self._network
            given["any_style/any_style.safetensors"] = network
        return Case(given)

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        given = folder / "given" / KEY
        catalog = Catalog(folder / "builtin", folder / "user" / "styles")
        attempt(lambda: catalog.install(given), said)
        _use(catalog, said)
        attempt(lambda: catalog.install(given / "weights.safetensors", "\x1b[1mbold\n"), said)
        found = Catalog(folder / "builtin", folder / "given")
        said += found.broken
        _use(found, said)
        moved = folder / "moved" / KEY
        shutil.copytree(folder / "given", folder / "moved", symlinks=True, ignore=_fifos)
        attempt(lambda: catalog.move_in(moved), said)
        return said


def _use(catalog: Catalog, said: list[str]) -> None:
    for style in catalog.styles:
        for text in (style.title, style.credit, style.licence):
            check_shown(text)
        attempt(lambda style=style: _load(catalog, style.key), said)
        attempt(lambda style=style: catalog.remove(style.key), said)


def _load(catalog: Catalog, key: str) -> None:
    weights = StyleWeights(catalog)
    weights.choose(EngineConfig(style=key, device="cpu"))
    weights.active(lite=False)


def _fifos(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]
