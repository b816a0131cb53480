"""Checkpoints of the network: safetensors and PyTorch files in every layout, and other files."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from models.checkpoints import load_checkpoint, save_checkpoint
from models.network_config import NetworkConfig, network_config
from models.safe_load import is_weight
from models.transformer_net import TransformerNetBaseline
from tests.fuzz.case import MARKER, Case
from tests.fuzz.mutations import WORDS, altered, damaged, damaged_zip
from tests.fuzz.targets.base import Basis, named, special

CONFIGS = (
    NetworkConfig(1, (2, 3, 4), 3),
    NetworkConfig(2, (4, 4, 8), 5),
    NetworkConfig(5, (2, 2, 2), 9),
)
WRAPPERS = ("state_dict", "model_state_dict", "model", "network", "params")
NORMS = {"in1": "conv1", "in2": "conv2", "in3": "conv3", "in4": "deconv1", "in5": "deconv2"}


class Checkpoints(Basis):
    name = "checkpoints"
    sample = 120
    memory = 1 << 29

    def prepare(self) -> None:
        self._states: list[dict[str, Any]] = []
        for shape in CONFIGS:
            torch.manual_seed(0)
            state = TransformerNetBaseline(**asdict(shape)).state_dict()
            self._states += [
                state,
                other_layout(state),
                {f"module._orig_mod.{key}": value for key, value in state.items()},
                {"epoch": 3, "model": {"state_dict": dict(state)}, "loss": [0.1]},
            ]
        self._files = [data for state in self._states[:4] for data in _written(state)]

    def make(self, rng: Random) -> Case:
        content = hostile_file(rng, rng.choice(self._states), self._files)
        ending = rng.choice((".pth", ".pt", ".safetensors"))
        return named(rng, special(rng) if rng.random() < 0.01 else content, "style", ending)

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        state = load_checkpoint(path)
        network = TransformerNetBaseline(**asdict(network_config(state)))
        network.load_state_dict(state)
        save_checkpoint(folder / "again.safetensors", state, dtype=torch.float32)
        again = load_checkpoint(folder / "again.safetensors")
        assert all(torch.equal(again[key], value) for key, value in state.items())
        return []


def other_layout(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename `state` to the second published layout."""
    renamed = {}
    for key, value in state.items():
        unit, _, last = key.rpartition(".")
        word = {"weight": "gamma", "bias": "beta"}[last]
        if unit.startswith("res"):
            block, part = unit.split(".")[:2]
            place = f"residual_blocks.{int(block[3:]) - 1}"
            name = f"conv{part[2:]}.norm.{word}" if part.startswith("in") else f"{part}.conv.{last}"
            renamed[f"{place}.{name}"] = value
        elif unit in NORMS:
            renamed[f"{NORMS[unit]}.norm.{word}"] = value
        else:
            renamed[f"{unit.split('.')[0]}.conv.{last}"] = value
    return renamed


def hostile_file(rng: Random, state: dict[str, Any], files: Sequence[bytes]) -> bytes:
    """Return a file of weights: one of `files` damaged, or `state` with hostile contents."""
    act = rng.random()
    if act < 0.2:
        return damaged(rng, rng.choice(files), files)
    if act < 0.35:
        archives = [data for data in files if data.startswith(b"PK")]
        return damaged_zip(rng, rng.choice(archives))
    if act < 0.5:
        headed = [data for data in files if data[8:9] == b"{"]
        return with_odd_header(rng, rng.choice(headed))
    if act < 0.6:
        return _with_code(rng, state)
    return _written(_odd(rng, state), rng)


def _written(state: Any, rng: Random | None = None) -> Any:
    """Return `state` as a file of a random kind, or of every kind without `rng`."""
    made = []
    for new in (True, False):
        buffer = io.BytesIO()
        torch.save(state, buffer, _use_new_zipfile_serialization=new)
        made.append(buffer.getvalue())
    plain = isinstance(state, dict) and all(isinstance(v, Tensor) for v in state.values())
    if plain and rng is None:
        made.append(safetensors.torch.save({key: value.clone() for key, value in state.items()}))
    return made if rng is None else rng.choice(made)


_SIDE = 7  # placeholder for other widths: no kernel size or color count is 7


def _odd(rng: Random, state: dict[str, Any]) -> Any:
    """Replace some values of `state` by other weights or by other objects."""
    state = dict(state)
    act = rng.random()
    if act < 0.02:
        state[rng.choice(WRAPPERS)] = state
        return state
    if act < 0.1:
        return rng.choice(([], None, 3, "text", torch.zeros(3), [state], {}, {"model": None}))
    if act < 0.2:
        # the same in every layer, without memory behind it
        wide = rng.choice((1, 300, 5000, 100_000))
        with torch.device("meta"):
            net = TransformerNetBaseline(1, (_SIDE, _SIDE, _SIDE), 3)
        sides = {
            key: [wide if side == _SIDE else side for side in value.shape]
            for key, value in net.state_dict().items()
        }
        return {key: torch.zeros(()).expand(shape) for key, shape in sides.items()}
    if act < 0.3:
        for _ in range(rng.choice((1, 10, 3000))):
            state[f"res{rng.choice((0, 1, 11, 10**9, 10**30))}.{rng.random()}"] = torch.zeros(1)
        return state
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(list(state))
        if rng.random() < 0.2:
            state[rng.choice((*WORDS, 3, None, (1, 2), 1.5, f"{key}.weight"))] = state[key]  # type: ignore[index]
        elif rng.random() < 0.2:
            del state[key]
        else:
            state[key] = _odd_value(rng, state[key])
        if not state:
            break
    return state if rng.random() < 0.8 else {rng.choice(WRAPPERS): OrderedDict(state)}


def _odd_value(rng: Random, value: Any) -> Any:
    if not isinstance(value, Tensor):
        return altered(rng, value)
    if not is_weight(value) or value.numel() > 1 << 20:  # already altered
        return None
    x = value.float()
    makers = (
        lambda: x * float("nan"),
        lambda: x * float("inf"),
        lambda: x * 1e30,
        lambda: x.to(torch.complex64),
        lambda: x.to(torch.int64),
        lambda: x > 0,
        lambda: x.double(),
        lambda: x.bfloat16(),
        lambda: x.to(torch.float8_e4m3fn),
        lambda: x.to_sparse(),
        lambda: x.flatten(),
        lambda: x[:0],
        lambda: x[..., None],
        lambda: torch.zeros(()),
        lambda: torch.zeros(()).expand(1 << rng.choice((10, 20, 40)), 3),
        lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        lambda: torch.empty(x.shape, device="meta"),
        lambda: torch.nn.Parameter(x),
        lambda: rng.choice(WORDS),
        lambda: [x.tolist()],
    )
    return rng.choice(makers)()


def with_odd_header(rng: Random, data: bytes) -> bytes:
    """Alter the JSON header of a safetensors file, usually with the right length."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.dumps(altered(rng, header)).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        text = damaged(rng, text)
    told = len(text) if rng.random() < 0.9 else rng.choice((0, 1 << 31, 1 << 40, (1 << 64) - 1))
    return told.to_bytes(8, "little") + text + data[8 + length :]


class _Run:
    """A pickle that calls `function` when it is read."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self._call


def _with_code(rng: Random, state: dict[str, Any]) -> bytes:
    """Return a file that creates a folder named MARKER if a reader runs its code."""
    payload = rng.choice(
        (
            _Run(os.mkdir, MARKER),
            _Run(os.system, f"mkdir {MARKER}"),
            _Run(exec, f"import os; os.mkdir({MARKER!r})"),
            _Run(eval, f"__import__('os').mkdir({MARKER!r})"),
            _Run(torch.load, MARKER),
        )
    )
    held = rng.choice((payload, {**state, "conv1.conv2d.weight": payload}, [payload, state]))
    act = rng.randrange(4)
    if act == 0:
        return pickle.dumps(held, protocol=rng.choice((2, 3, 4, 5)))
    if act == 1:
        return pickle.dumps(held, protocol=0)
    buffer = io.BytesIO()
    torch.save(held, buffer, _use_new_zipfile_serialization=act == 2)
    data = buffer.getvalue()
    if act == 2 and rng.random() < 0.3:  # the pickle of a TorchScript program
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as out:
            out.writestr(zipfile.ZipInfo("archive/data.pkl"), pickle.dumps(held, protocol=2))
            out.writestr(zipfile.ZipInfo("archive/code/__torch__.py"), "import os")
        return made.getvalue()
    return damaged(rng, data) if rng.random() < 0.2 else data
