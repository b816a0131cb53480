"""`styleforge train`: a picture and a folder of photographs in, a style pack out."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray

from app.commands.training_control import ShownOn, listen, stop_asked
from app.commands.training_reports import Report, report_for
from app.problems import StyleForgeError
from models.checkpoints import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from models.network_shape import FULL, SHAPES, NetworkShape, network_shape
from models.training.checkpoint import resume_run
from models.training.config import PRECISIONS, TrainingConfig
from models.training.data import Photographs, find_photographs, load_photographs
from models.training.download import cached_vgg
from models.training.errors import TrainingError
from models.training.features import INPUTS, Vgg19Features, load_vgg
from models.training.pace import seconds_per_step
from models.training.pack import PackTexts, add_lite, check_free, check_lite_free, write_pack
from models.training.run import Run
from models.training.trainer import Progress, train
from models.transformer_net import TransformerNetBaseline
from utils.devices import resolve, title
from utils.image_utils import ImageError, load_image, save_image
from utils.toml import Value
from utils.writable import refusal

DEFAULTS = TrainingConfig()
CACHED_PHOTOS = 8000  # 2 GB at the default sizes
PREVIEW_SIDE = 512  # long side, in pixels
STOPPED = 128 + 2  # what a shell reports for a program ended by Ctrl+C
ESTIMATE_PHOTOS = 64  # enough to measure a step's time with
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


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "train",
        help="train a style from a picture",
        description="Train a style from a picture. Ctrl+C keeps what was learned; the same "
        "command with --resume goes on. The losses are in relative form, so that one set of "
        "weights fits every style.",
    )
    need = parser.add_argument
    need("--style-image", type=Path, required=True, metavar="PICTURE", help="what to learn")
    need(
        "--dataset",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="photographs to practise on, subfolders too",
    )
    need(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="a folder, in which the style's own folder is made, "
        "or a .safetensors file for the weights alone",
    )
    vgg = parser.add_argument_group("the judging network")
    vgg.add_argument(
        "--vgg",
        type=Path,
        metavar="FILE",
        help="VGG-19 weights (default: torchvision's, 548 MB, downloaded once)",
    )
    vgg.add_argument(
        "--vgg-input",
        choices=list(INPUTS),
        help="which input FILE was trained on (default: what the file says of itself)",
    )
    recipe = parser.add_argument_group("the recipe")
    for name, kind, meaning in (
        ("content_weight", float, "weight of the content loss"),
        ("style_weight", float, "weight of the style loss"),
        ("tv_weight", float, "weight of the total variation"),
        ("stability_weight", float, "weight of steadiness from frame to frame"),
        ("teacher_weight", float, "weight of likeness to the --teacher's pictures"),
        ("style_size", int, "long side of the style picture, in pixels"),
        ("image_size", int, "side of the training crops, in pixels"),
        ("batch_size", int, "photographs in a step"),
        ("lr", float, "Adam's learning rate at the start"),
        ("seed", int, "begins every random number"),
    ):
        default = getattr(DEFAULTS, name)
        recipe.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=default,
            metavar="N",
            help=f"{meaning} (default: {default:g})",
        )
    recipe.add_argument(
        "--style-scales",
        type=_scales,
        default=DEFAULTS.style_scales,
        metavar="1,0.5",
        help="scales at which result and style picture are compared (default: 1)",
    )
    recipe.add_argument("--epochs", type=int, metavar="N", help="times to see every photograph")
    recipe.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help=f"steps to take, whatever --epochs says (default: {DEFAULTS.iterations})",
    )
    recipe.add_argument(
        "--init", type=Path, metavar="CHECKPOINT", help="begin from these weights, not at random"
    )
    recipe.add_argument(
        "--init-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="how much of the --init weights stays in the result, 0 to 1: between two sets of "
        "weights of one descent lie pictures between theirs (default: 0)",
    )
    recipe.add_argument(
        "--network",
        choices=list(SHAPES),
        help="lite is narrower, for slow machines; into a folder that has the style's pack already "
        "it goes beside the full one (default: that of --init, or full)",
    )
    recipe.add_argument(
        "--teacher",
        type=Path,
        metavar="CHECKPOINT",
        help="weights of the same style, whose pictures are to be followed",
    )
    recipe.add_argument(
        "--exclude",
        type=Path,
        metavar="LIST",
        help="a text file naming photographs to leave out, one a line",
    )
    recipe.add_argument(
        "--cache-photos",
        type=int,
        default=CACHED_PHOTOS,
        metavar="N",
        help="photographs to keep in memory; of a larger folder, this many are drawn at random "
        f"(default: {CACHED_PHOTOS})",
    )
    machine = parser.add_argument_group("the machine")
    machine.add_argument(
        "--device", default="auto", help="auto, cpu, cuda:0, ... (default: auto, a GPU if any)"
    )
    machine.add_argument(
        "--precision",
        choices=("auto", *PRECISIONS),
        default="auto",
        help="bf16 is autocast (default: auto, bf16 on a GPU that has it)",
    )
    machine.add_argument("--compile", action="store_true", help="compile the network for speed")
    machine.add_argument("--resume", action="store_true", help="go on where the run stopped")
    machine.add_argument(
        "--checkpoint-interval",
        type=int,
        default=500,
        metavar="N",
        help="iterations between checkpoints (default: 500)",
    )
    machine.add_argument(
        "--estimate",
        action="store_true",
        help="take a few real steps, say how long the run would take, and end",
    )
    machine.add_argument(
        "--json-progress", action="store_true", help="print one JSON object a line"
    )
    machine.add_argument(
        "--listen",
        action="store_true",
        help="take a line on stdin, or its end, for Ctrl+C (for programs)",
    )
    pack = parser.add_argument_group("the style pack")
    pack.add_argument("--name", metavar="KEY", help="its folder (default: the picture's name)")
    pack.add_argument("--title", help="its name for people (default: from KEY)")
    pack.add_argument("--credit", default="", help="whose picture it is")
    pack.add_argument("--licence", default="", help="what others may do with it")
    pack.add_argument(
        "--preview",
        type=Path,
        metavar="PICTURE",
        help="what to show the style on; read again when it changes (default: a photograph)",
    )
    pack.add_argument(
        "--thumbnail",
        type=Path,
        metavar="PICTURE",
        help="what the pack shows the style on (default: what --preview does)",
    )
    pack.add_argument("--overwrite", action="store_true", help="replace a style of this name")
    parser.set_defaults(parser=parser)


def run(args: argparse.Namespace) -> int:
    """Train; 0 when the style is written, 130 when stopped by Ctrl+C with a checkpoint left."""
    if args.listen:
        listen()
    with report_for(as_json=args.json_progress) as report:
        try:
            return _run(args, report)
        except (TrainingError, ImageError, CheckpointError) as exc:
            raise StyleForgeError(str(exc)) from exc
        except (MemoryError, RuntimeError) as exc:
            if not _is_want_of_memory(exc):
                raise
            raise StyleForgeError(
                f"memory does not suffice for {args.batch_size} photographs of "
                f"{args.image_size} pixels in a step; choose fewer or smaller ones"
            ) from exc


def _is_want_of_memory(exc: Exception) -> bool:
    # On a CPU PyTorch raises a plain RuntimeError.
    known = (MemoryError, torch.OutOfMemoryError)
    return isinstance(exc, known) or "can't allocate memory" in str(exc)


def _run(args: argparse.Namespace, report: Report) -> int:
    if args.checkpoint_interval < 1:
        raise TrainingError("the checkpoint interval should be 1 or more")
    output = _output(args)
    if output.checkpoint.exists() and not args.resume:
        raise TrainingError(
            f"'{output.checkpoint}' holds an unfinished run; "
            "pass --resume to go on with it, or delete it to start afresh"
        )
    if args.resume and not output.checkpoint.exists():
        raise TrainingError(f"there is no run to resume: '{output.checkpoint}' does not exist")
    if why := refusal(output.result.parent):  # told before hours are spent
        raise TrainingError(f"nothing can be written to '{output.result.parent}': {why}")
    device = _device(args.device)
    if not 0 <= args.init_share < 1 or (args.init_share and not args.init):
        raise TrainingError("--init-share should be from 0 to less than 1, and needs an --init")
    weights = load_checkpoint(args.init) if args.init else None
    config = _config(args, device, _shape(args, weights))
    teacher = _teacher(args)
    style = load_image(args.style_image)
    thumbnail = load_image(args.thumbnail) if args.thumbnail else None
    preview = ShownOn(args.preview, style, PREVIEW_SIDE)
    paths = find_photographs(args.dataset, _names(args.exclude))
    features = _features(args, report)
    photographs = load_photographs(
        paths,
        config.square,
        min(args.cache_photos, ESTIMATE_PHOTOS) if args.estimate else args.cache_photos,
        config.seed,
        partial(report.loading, "Photographs"),
    )
    _tell_of(photographs, len(paths), report)
    if args.epochs is not None and args.iterations is None:
        config = replace(config, iterations=config.for_epochs(args.epochs, len(photographs)))
    if args.preview is None:
        preview = ShownOn(None, photographs.pixels[0].numpy(), PREVIEW_SIDE)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # every batch has the same shape
        # Only the Gram matrices of a half-precision run are left in FP32; TF32 is as exact.
        torch.backends.cuda.matmul.allow_tf32 = config.precision != "fp32"
    training = Run(
        config,
        features,
        photographs,
        style,
        device,
        weights,
        teacher=teacher,
        compiled=args.compile,
    )
    if args.estimate:
        pace = seconds_per_step(training)
        report.estimate(pace, config.iterations, title(device))
        return 0
    if args.resume:
        resume_run(output.checkpoint, training)
        report.note(f"Going on from iteration {training.iteration}")
    report.note(
        f"Training on {title(device)} in {config.precision}, {len(photographs)} photographs"
    )
    readings = _follow(training, output, args.checkpoint_interval, preview, report)
    if not training.finished:
        kept = f"the same command with --resume goes on from '{output.checkpoint}'"
        report.note(
            f"Stopped at iteration {training.iteration} of {config.iterations}; "
            + (kept if output.checkpoint.exists() else "nothing was learned yet")
        )
        return STOPPED
    if weights is not None and args.init_share:
        training.go_back(weights, args.init_share)
    facts = _facts(args, training, readings, len(photographs))
    texts = PackTexts(args.title or _title(output.result.stem), args.credit, args.licence)
    state = training.network.state_dict()
    if output.only_weights:
        _save_weights(output.result, state, texts, facts)
    elif output.beside:
        add_lite(output.result, state, facts)
    else:
        shown = preview() if thumbnail is None else ShownOn(None, thumbnail, PREVIEW_SIDE)()
        write_pack(output.result, texts, state, training.styled(shown), facts)
    output.checkpoint.unlink(missing_ok=True)
    output.preview.unlink(missing_ok=True)
    report.finished(output.result, training.seconds)
    return 0


def _output(args: argparse.Namespace) -> Output:
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


def _title(key: str) -> str:
    return key.replace("_", " ").title()


def _device(key: str) -> torch.device:
    try:
        return resolve(key)
    except ValueError as exc:
        raise TrainingError(str(exc)) from exc


def _shape(args: argparse.Namespace, weights: Mapping[str, torch.Tensor] | None) -> NetworkShape:
    """What --network says, or what --init is; TrainingError if the two differ."""
    asked = SHAPES[args.network] if args.network else None
    if weights is None:
        return asked or FULL
    shape = network_shape(weights)
    if asked and asked != shape:
        raise TrainingError(f"'{args.init.name}' is not a {args.network} network")
    return shape


def _teacher(args: argparse.Namespace) -> TransformerNetBaseline | None:
    if args.teacher is None:
        if args.teacher_weight:
            raise TrainingError("--teacher-weight needs a --teacher")
        return None
    if not args.teacher_weight:
        raise TrainingError("--teacher needs a --teacher-weight above 0")
    state = load_checkpoint(args.teacher)
    network = TransformerNetBaseline(**asdict(network_shape(state)))
    network.load_state_dict(state)
    return network


def _config(args: argparse.Namespace, device: torch.device, shape: NetworkShape) -> TrainingConfig:
    asked = {f.name: getattr(args, f.name) for f in fields(TrainingConfig) if f.name in args}
    asked = {name: value for name, value in asked.items() if value is not None}
    if asked["precision"] == "auto":
        modern = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        asked["precision"] = "bf16" if modern else "fp32"
    return TrainingConfig(**asked, **asdict(shape))


def _scales(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers like 1,0.5, not '{text}'") from None


def _names(path: Path | None) -> list[str]:
    """The lines of an exclusion list, without blank ones and comments (#)."""
    if path is None:
        return []
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        raise TrainingError(f"the list '{path}' cannot be read: {reason}") from exc
    return [line for line in lines if line and not line.startswith("#")]


def _features(args: argparse.Namespace, report: Report) -> Vgg19Features:
    path = args.vgg or cached_vgg(partial(report.loading, "VGG-19, bytes"))
    return load_vgg(path, args.vgg_input)


def _tell_of(photographs: Photographs, available: int, report: Report) -> None:
    kept, skipped = len(photographs), photographs.skipped
    if available > kept + len(skipped):
        report.note(f"Training on {kept} of {available} photographs (see --cache-photos)")
    if skipped:
        more = f"; and {len(skipped) - 5} more" if len(skipped) > 5 else ""
        report.note(f"Skipped {len(skipped)}: {'; '.join(skipped[:5])}{more}")


def _follow(
    training: Run,
    output: Output,
    interval: int,
    preview: ShownOn,
    report: Report,
) -> deque[Progress]:
    """Drive the run and report on it; the last readings of the losses."""
    readings: deque[Progress] = deque(maxlen=AVERAGED)
    newest: Path | None = None
    with stop_asked() as stop:
        for progress in train(
            training,
            output.checkpoint,
            checkpoint_interval=interval,
            preview=preview,
            stop=stop.is_set,
        ):
            if progress.preview is not None:
                newest = _keep(output.preview, progress.preview, report)
            report.progress(progress, newest)
            readings.append(progress)
    return readings


def _keep(path: Path, preview: NDArray[np.uint8], report: Report) -> Path | None:
    """Save a preview; failing that says so, for a run is worth more than its preview."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_image(path, preview)
    except (ImageError, OSError) as exc:
        report.note(f"The preview could not be saved: {exc}")
        return None
    return path


def _facts(
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


def _save_weights(
    path: Path, state: Mapping[str, torch.Tensor], texts: PackTexts, facts: Mapping[str, Value]
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"title": texts.title, "credit": texts.credit, "licence": texts.licence}
    metadata |= {name: str(value) for name, value in facts.items()}
    try:
        save_checkpoint(path, dict(state), metadata)
    except OSError as exc:
        raise TrainingError(f"'{path}' could not be written ({exc.strerror or exc})") from exc


if __name__ == "__main__":  # for machines that have nothing but what training needs
    root = argparse.ArgumentParser(prog="python -m app.commands.train")
    add_parser(root.add_subparsers(required=True))
    try:
        sys.exit(run(root.parse_args(["train", *sys.argv[1:]])))
    except StyleForgeError as exc:
        sys.exit(f"styleforge: {exc}")
