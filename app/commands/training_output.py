"""What a run of training leaves: where it goes, and what it says of how it was made."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import torch

from models.checkpoints import save_checkpoint
from models.training.errors import TrainingError
from models.training.pack import PackTexts, check_free, check_lite_free
from models.training.run import Run
from models.training.trainer import Progress
from utils.devices import title
from utils.toml import Value

UNTOLD = {  # by a pack: what does not change the style
    *("command", "parser", "resume", "overwrite", "json_progress", "listen", "estimate"),
    *("checkpoint_interval", "thumbnail"),
}
AVERAGED = 20  # the losses a pack states are the mean of this many last readings


@dataclass(frozen=True, slots=True)
class Output:
    """Where the style goes (`result`: a pack's folder, or a file of weights alone), and what
    lies beside it while training goes on."""

    result: Path
    only_weights: bool
    beside: bool = False  # a lite network for the pack that is there

    @property
    def checkpoint(self) -> Path:
        lite = "-lite" if self.beside else ""
        return self.result.with_name(f"{self.result.stem}{lite}.training.pt")

    @property
    def preview(self) -> Path:
        return self.result.with_name(f"{self.result.stem}.preview.png")

    @property
    def title(self) -> str:
        """The pack's name for people, unless it is given one."""
        return self.result.stem.replace("_", " ").title()


def output_of(args: argparse.Namespace) -> Output:
    """What `args` ask for; TrainingError if it is there already, or cannot be."""
    target: Path = args.output
    if target.suffix in (".pth", ".pt"):
        raise TrainingError(f"weights are written as .safetensors, not '{target.name}'")
    if target.suffix == ".safetensors":
        if target.exists() and not args.overwrite:
            raise TrainingError(f"'{target}' exists; choose another name, or pass --overwrite")
        return Output(target, only_weights=True)
    key = args.name if args.name is not None else _key(args.style_image.stem)
    if not key or key != _key(key):
        raise TrainingError(
            f"--name should be lower-case letters, digits and underscores, not '{args.name or ''}'"
        )
    if target.exists() and not target.is_dir():
        raise TrainingError(f"'{target}' is a file; -o takes a folder or a .safetensors file")
    folder = target / key
    beside = args.network == "lite" and (folder / "style.toml").is_file()
    if beside:
        check_lite_free(folder, overwrite=args.overwrite)
    else:
        check_free(folder, overwrite=args.overwrite)
    return Output(folder, only_weights=False, beside=beside)


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")


def facts_of(
    args: argparse.Namespace, training: Run, readings: deque[Progress], photographs: int
) -> dict[str, Value]:
    """What a pack says of its training: the recipe, its outcome, and how it was made."""
    facts: dict[str, Value] = dict(asdict(training.config)) | {"clamped": True}
    for name in ("loss", "content", "style", "tv", "stability", "teacher") if readings else ():
        mean = fmean(getattr(progress, name) for progress in readings)
        facts[f"final_{name}"] = float(f"{mean:.4g}")
    facts |= {
        "photographs": photographs,
        "seconds": round(training.seconds, 1),
        "device": title(training.device),
        "torch": torch.__version__,
        "command": _command(args),
    }
    if args.init:
        facts |= {"init": args.init.name, "init_share": args.init_share}
    return facts


def _command(args: argparse.Namespace) -> str:
    """The command line that makes this style again, every path cut to what it is called: where
    somebody keeps their files is nobody's business."""
    words = ["styleforge", "train"]
    for name, value in vars(args).items():
        if name in UNTOLD or value is None or value == args.parser.get_default(name):
            continue
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, Path):
            words.append(_told(value))
        elif isinstance(value, tuple):
            words.append(",".join(f"{part:g}" for part in value))
        elif value is not True:
            words.append(str(value))
    return shlex.join(words)


def _told(path: Path) -> str:
    """The last part of `path`; of a pack's weights also whose they are."""
    in_pack = (path.parent / "style.toml").is_file()
    return f"{path.parent.name}/{path.name}" if in_pack else path.name


def save_weights(
    path: Path, state: Mapping[str, torch.Tensor], texts: PackTexts, facts: Mapping[str, Value]
) -> None:
    """A file of weights alone, which says what a pack would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"title": texts.title, "credit": texts.credit, "licence": texts.licence}
    metadata |= {name: str(value) for name, value in facts.items()}
    try:
        save_checkpoint(path, dict(state), metadata)
    except OSError as exc:
        raise TrainingError(f"'{path}' could not be written ({exc.strerror or exc})") from exc
