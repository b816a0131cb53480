"""The output of a training run: its files and metadata."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from app.commands.command_line import command_line
from app.commands.training_recipe import LOSSES, final_losses, made_with
from models.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from models.training.checkpoint import clear_leftovers, forget_run
from models.training.errors import TrainingError
from models.training.run import Run
from models.training.style_pack import (
    PackTexts,
    check_free,
    check_lite_free,
    clear_staging,
    put_back,
)
from utils.files.atomic import remove_leftovers
from utils.files.names import is_device
from utils.files.toml import Value

NOT_RECORDED = {  # arguments that do not change the style
    *("command", "parser", "resume", "overwrite", "json_progress", "listen", "estimate"),
    *("checkpoint_interval", "thumbnail", "vgg_download", "finish"),
}
NAME_LETTERS = 200  # file systems allow 255; files next to a pack have longer names


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a training run, and its companion files during training.

    Attributes:
        only_weights: Whether `result` is a file of weights.
        lite_for_pack: Whether a lite network is added to an existing pack.
    """

    result: Path
    only_weights: bool
    lite_for_pack: bool = False

    @property
    def checkpoint(self) -> Path:
        lite = "-lite" if self.lite_for_pack else ""
        return self.result.with_name(f"{self.result.stem}{lite}.training.pt")

    @property
    def preview(self) -> Path:
        return self.result.with_name(f"{self.result.stem}.preview.png")

    @property
    def weights(self) -> Path:
        if self.only_weights:
            return self.result
        return self.result / ("lite.safetensors" if self.lite_for_pack else "weights.safetensors")

    @property
    def title(self) -> str:
        return self.result.stem.replace("_", " ").title()

    def check_free(self, *, overwrite: bool) -> None:
        """Raise TrainingError if the result exists, unless `overwrite`."""
        if self.lite_for_pack:
            check_lite_free(self.result, overwrite=overwrite)
        elif not self.only_weights:
            check_free(self.result, overwrite=overwrite)
        elif self.result.exists() and not overwrite:
            raise TrainingError(f"'{self.result}' exists; choose another name, or pass --overwrite")

    def holds(self, state: Mapping[str, torch.Tensor]) -> bool:
        """Return whether the written weights equal `state`.

        If an earlier run was killed, its checkpoint may exist although these weights are complete.
        """
        if not self.weights.is_file():
            return False
        try:
            written = load_checkpoint(self.weights)
        except CheckpointError:
            return False
        return all(
            torch.equal(written[name], value.cpu().half().float()) for name, value in state.items()
        )

    def clear_leftovers(self) -> None:
        """Remove temporary files of killed processes; the caller must hold the lock."""
        clear_leftovers(self.checkpoint)
        remove_leftovers(self.preview)
        if self.only_weights:
            remove_leftovers(self.result)
        else:
            clear_staging(self.result)

    def forget_run(self) -> None:
        """Delete the files that only an unfinished run needs."""
        self.preview.unlink(missing_ok=True)
        forget_run(self.checkpoint)


def output_from_args(args: argparse.Namespace) -> Output:
    """Return the output for `args`.

    Raises:
        TrainingError: If the name or the path of the result is not allowed.
    """
    target: Path = args.output
    if target.suffix in (".pth", ".pt"):
        raise TrainingError(
            f"the file for the weights must end in .safetensors, not '{target.name}'"
        )
    if target.suffix == ".safetensors":
        return Output(target, only_weights=True)
    key = args.name if args.name is not None else _pack_key(args.style_image.stem)
    if not key or key != _pack_key(key):
        raise TrainingError(
            f"the --name '{args.name or ''}' must consist of lower-case letters, digits and "
            "underscores, and must not be a device of Windows"
        )
    if len(key) > NAME_LETTERS:
        raise TrainingError(
            f"the style's name has {len(key)} letters, more than {NAME_LETTERS}; pass a shorter "
            "--name"
        )
    if target.exists() and not target.is_dir():
        raise TrainingError(f"'{target}' is a file; -o needs a folder or a .safetensors file")
    folder = target / key
    put_back(folder)
    alone = Output(folder, only_weights=False)
    if args.network != "lite" or not (folder / "style.toml").is_file():
        return alone
    beside = Output(folder, only_weights=False, lite_for_pack=True)
    # A pack with only a lite network may exist while its run is not deleted yet.
    resumes_alone = alone.checkpoint.is_file() and not beside.checkpoint.is_file()
    return alone if args.resume and resumes_alone else beside


def _pack_key(text: str) -> str:
    key = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")
    return f"style_{key}" if is_device(key) else key


def training_metadata(
    args: argparse.Namespace, training: Run, photographs: int
) -> dict[str, Value]:
    """Return the metadata of a pack: the recipe, the final losses, and how it was made."""
    facts: dict[str, Value] = dict(asdict(training.config)) | {"clamped": True}
    facts["iterations"] = training.iteration  # fewer with --finish
    facts |= final_losses(training, (*LOSSES, "teacher", "weave"))
    facts |= {
        "photographs": photographs,
        "seconds": round(training.seconds, 1),
        **made_with(training, command_line("train", args, NOT_RECORDED)),
    }
    if args.init:
        facts |= {"init": args.init.name, "init_share": args.init_share}
    return facts


def save_weights(
    path: Path, state: Mapping[str, torch.Tensor], texts: PackTexts, facts: Mapping[str, Value]
) -> None:
    """Write a file of weights with the metadata of a pack.

    Raises:
        TrainingError: If the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"title": texts.title, "credit": texts.credit, "licence": texts.licence}
    metadata |= {name: str(value) for name, value in facts.items()}
    try:
        save_checkpoint(path, dict(state), metadata)
    except OSError as exc:
        raise TrainingError(f"'{path}' could not be written ({exc.strerror or exc})") from exc
