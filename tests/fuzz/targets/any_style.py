"""The files of any-style networks."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

import torch

from models.vit_checkpoints import load_vit, save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.fuzz.case import Case
from tests.fuzz.mutations import altered, damaged
from tests.fuzz.targets.base import Basis, named, special
from tests.fuzz.targets.checkpoints import with_odd_header

CONFIG = VitConfig(16, 2, 16, 1, 1, 8, (4, 4, 8))


class AnyStyleFiles(Basis):
    name = "any-style"
    sample = 30
    memory = 1 << 29

    def prepare(self) -> None:
        torch.manual_seed(0)
        state = StyleForgeTransformer(CONFIG).state_dict()
        made: list[bytes] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "w.safetensors"
            for storage in ("float16", "int8"):
                save_vit(path, CONFIG, state, storage=storage)
                made.append(path.read_bytes())
        self._files = made

    def make(self, rng: Random) -> Case:
        act, file = rng.random(), rng.choice(self._files)
        if act < 0.02:
            content = special(rng)
        elif act < 0.3:
            content = damaged(rng, file, self._files)
        elif act < 0.6:
            content = with_odd_header(rng, file)
        else:
            content = _with_odd_config(rng, file)
        return named(rng, content, "net", ".safetensors")

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        with torch.no_grad():
            load_vit(path).network()(torch.zeros(1, 3, 16, 16), torch.zeros(1, 3, 16, 16))
        return []


def _with_odd_config(rng: Random, data: bytes) -> bytes:
    """Return a file whose header names dimensions other than its weights'."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    config = json.loads(header["__metadata__"]["config"])
    header["__metadata__"]["config"] = json.dumps(altered(rng, config))
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "little") + text + data[8 + length :]
