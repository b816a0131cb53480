"""`styleforge train-vit`: trains the any-style network in stages, on one or several GPUs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from statistics import fmean

import torch

from app.commands.command_line import command_line
from app.errors import StyleForgeError
from app.processes.stop_signal import stop_requested
from models.checkpoints import CheckpointError
from models.training.checkpoint import clear_leftovers, resume_run
from models.training.data import Photographs, find_photographs, load_photographs
from models.training.errors import TrainingError
from models.training.features import load_vgg
from models.training.vit.config import STORED, VitTrainingConfig
from models.training.vit.distributed import Team, team
from models.training.vit.held_out import HeldOut, read_held_out
from models.training.vit.run import VitLosses, VitRun
from models.training.vit.sampling import Sampler
from models.training.vit.trainer import train_vit
from models.training.vit.validation import held_out_losses
from models.vit_checkpoints import load_vit, save_vit
from models.vit_config import VIT_VARIANTS
from utils.devices import resolve, title
from utils.files.locks import LockedError, locked
from utils.files.writable import write_error
from utils.text import printable

STOPPED = 128 + 2  # the exit status that shells report for Ctrl+C
LINES_S = 10.0  # seconds between lines of progress
AVERAGED = 20  # the losses in the written file are means over this many last readings
MOST_PICTURES = 100_000  # of each kind: 25 GB
BEGUN = ("command", "steps", "seconds", "sha256")  # metadata copied from the initial network
NOT_RECORDED = {"command", "parser", "resume", "stage_seconds", "checkpoint_interval", "output"}


def run(args: argparse.Namespace) -> int:
    """Train the network; return 0, or 130 if Ctrl+C stopped the run, with a checkpoint."""
    try:
        device = resolve(args.device)
    except ValueError as exc:
        raise StyleForgeError(str(exc)) from exc
    with team(device) as members:
        try:
            return _run(args, members)
        except (TrainingError, CheckpointError) as exc:
            raise StyleForgeError(str(exc)) from exc
        except torch.OutOfMemoryError as exc:
            raise StyleForgeError(
                f"not enough memory for {args.batch_size} pairs of {args.image_size} pixels in a "
                "step; choose a smaller --batch-size or --image-size"
            ) from exc


def _run(args: argparse.Namespace, members: Team) -> int:
    output: Path = args.output
    if output.suffix != ".safetensors":
        raise TrainingError(
            f"the file for the weights must end in .safetensors, not '{printable(output.name)}'"
        )
    checkpoint = output.with_name(f"{output.stem}.training.pt")
    _check(args, output, checkpoint)
    config = _config(args, members.device)
    held = HeldOut() if args.held_out is None else read_held_out(args.held_out)
    photographs, judged_photographs = _pictures(args.photos, held.photographs, members)
    paintings, judged_paintings = _pictures(args.paintings, held.paintings, members)
    features = load_vgg(args.vgg, args.vgg_input)
    begun = None
    if args.init is not None:
        begun = load_vit(args.init)
        # The number of keys that tokens share changes no weight.
        if replace(begun.config, max_keys=config.network.max_keys) != config.network:
            raise TrainingError(
                f"'{printable(args.init.name)}' is not an any-style network of "
                f"the variant {args.variant}"
            )
    if members.device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # every batch has the same shape
        torch.backends.cuda.matmul.allow_tf32 = config.precision != "fp32"
    sampler = Sampler(
        photographs.pixels, paintings.pixels, config, members.device, rank=members.rank
    )
    training = VitRun(
        config,
        features,
        sampler,
        members,
        f"{photographs.digest} {paintings.digest}",
        None if begun is None else begun.state,
        compiled=args.compile,
    )
    with ExitStack() as held_files:
        if members.leads:
            _lock(held_files, checkpoint)
            clear_leftovers(checkpoint)
        members.wait()
        if args.resume:
            damage = resume_run(checkpoint, training)
            _say(members, damage or f"Resuming from step {training.iteration}")
        members.wait()  # from here on the first process may write
        count = sum(weight.numel() for weight in training.network.parameters())
        _say(
            members,
            f"Training {args.variant} on {members.size} x {title(members.device)} in "
            f"{config.precision}: {len(photographs)} photographs, {len(paintings)} paintings, "
            f"{count / 1e6:.1f} M weights",
        )
        with stop_requested() as stop:
            _train(training, args, checkpoint, stop.is_set)
            stopped = stop.is_set()
        if members.leads:
            facts = _facts(args, training, len(photographs), len(paintings))
            if begun is not None:
                earlier = {name: begun.metadata[name] for name in BEGUN if name in begun.metadata}
                facts |= {f"init_{name}": text for name, text in earlier.items()}
            if judged_photographs is not None and judged_paintings is not None:
                judged = held_out_losses(
                    training, features, judged_photographs.pixels, judged_paintings.pixels
                )
                said = {name: f"{loss:.4g}" for name, loss in judged._asdict().items()}
                facts |= {f"held_out_{name}": loss for name, loss in said.items()}
                _say(members, f"Held out: content {said['content']}, style {said['style']}")
            save_vit(output, config.network, training.mean_weights(), facts, args.storage)
        state = "Finished" if training.finished else "To be resumed"
        _say(members, f"{state} after {training.iteration} steps; written to {output}")
    return STOPPED if stopped and not training.finished else 0


def _check(args: argparse.Namespace, output: Path, checkpoint: Path) -> None:
    """Raise TrainingError if nothing can be written, or another run would be overwritten."""
    if args.checkpoint_interval < 1:
        raise TrainingError("the checkpoint interval must be at least 1")
    if args.stage_seconds is not None and not args.stage_seconds > 0:
        raise TrainingError("--stage-seconds must be more than 0")
    if why := write_error(output.parent):
        raise TrainingError(f"cannot write to '{printable(str(output.parent))}': {why}")
    shown = printable(checkpoint.name)
    if checkpoint.exists() and not args.resume:
        raise TrainingError(
            f"'{shown}' holds a run; pass --resume to continue it, or delete it to start over"
        )
    if args.resume and not checkpoint.exists():
        raise TrainingError(f"there is no run to resume: '{shown}' does not exist")


def _config(args: argparse.Namespace, device: torch.device) -> VitTrainingConfig:
    names = {field.name for field in fields(VitTrainingConfig)} - {"network"}
    asked = {name: getattr(args, name) for name in sorted(names)}
    if asked["precision"] == "auto":
        modern = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        asked["precision"] = "bf16" if modern else "fp32"
    return VitTrainingConfig(**asked, network=VIT_VARIANTS[args.variant])


def _pictures(
    folder: Path, left_out: Sequence[str], members: Team
) -> tuple[Photographs, Photographs | None]:
    """Decode the training and any evaluation pictures; names to leave out need not exist."""
    known = {path.name for path in folder.rglob("*")} if folder.is_dir() else set[str]()
    paths = find_photographs(folder, [name for name in left_out if name in known])
    found = load_photographs(paths, STORED, MOST_PICTURES)
    if found.skipped:
        shown = printable(folder.name)
        _say(members, f"Skipped {len(found.skipped)} in {shown}: {'; '.join(found.skipped[:5])}")
    kept = sorted(set(find_photographs(folder)) - set(paths))
    return found, load_photographs(kept, STORED, MOST_PICTURES) if kept else None


def _lock(held: ExitStack, checkpoint: Path) -> None:
    shown = printable(checkpoint.name)
    try:
        held.enter_context(locked(checkpoint, 0))
    except LockedError as exc:
        raise TrainingError(f"'{shown}' is being trained by another process") from exc
    except OSError as exc:
        raise TrainingError(f"'{shown}' cannot be locked: {exc.strerror or exc}") from exc


def _train(
    training: VitRun, args: argparse.Namespace, checkpoint: Path, stop: Callable[[], bool]
) -> None:
    first, began, due = training.iteration, time.perf_counter(), 0.0
    for losses in train_vit(
        training,
        checkpoint,
        checkpoint_interval=args.checkpoint_interval,
        stage_seconds=args.stage_seconds or inf,
        stop=stop,
    ):
        now = time.perf_counter()
        if now < due and not training.finished:
            continue
        due = now + LINES_S
        _say(training.team, _line(losses, training, (losses.iteration - first) / (now - began)))


def _line(losses: VitLosses, training: VitRun, pace: float) -> str:
    return (
        f"{training.progress:6.1%}  step {losses.iteration}  {losses.seconds:.0f} s  "
        f"loss {losses.loss:.3f}  content {losses.content:.3f}  style {losses.style:.3f}  "
        f"tv {losses.tv:.0f}  stability {losses.stability:.3f}  {pace:.2f} steps/s"
    )


def _facts(
    args: argparse.Namespace, training: VitRun, photographs: int, paintings: int
) -> dict[str, str]:
    """Return the metadata of the written file: recipe, sources, and the last losses."""
    last = training.history[-AVERAGED:]
    facts: dict[str, object] = {
        f"final_{name}": f"{fmean(getattr(losses, name) for losses in last):.4g}"
        for name in ("loss", "content", "style", "tv", "stability")
        if last
    }
    facts |= {
        "steps": training.iteration,
        "seconds": round(training.seconds, 1),
        "photographs": photographs,
        "paintings": paintings,
        "processes": training.team.size,
        "device": title(training.team.device),
        "torch": torch.__version__,
        "command": command_line("train-vit", args, NOT_RECORDED),
    }
    return {name: str(value) for name, value in facts.items()}


def _say(members: Team, text: str) -> None:
    """Print a line, on the first process only."""
    if members.leads:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
