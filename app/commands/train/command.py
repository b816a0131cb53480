"""`styleforge train`: trains a style pack from a picture and a folder of photographs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from app.commands.train.flags import add_flags
from app.commands.train.impression import first_impression
from app.commands.train.output import Output, output_from_args, save_weights, training_metadata
from app.commands.train.preview_image import PreviewImage
from app.commands.train.reporters import Reporter, make_reporter
from app.errors import StyleForgeError, advice_for
from app.exit_status import DONE
from app.processes.stop_signal import interrupt_on_stdin, stop_requested
from app.styles.catalog import Catalog
from models.checkpoints import CheckpointError, load_checkpoint
from models.network_config import CONFIGS, FULL, NetworkConfig, network_config
from models.training.checkpoint import resume_run
from models.training.config import TrainingConfig
from models.training.data import Photographs, find_photographs, load_photographs
from models.training.download import cached_vgg
from models.training.download.errors import WholeFileNeededError
from models.training.errors import TrainingError
from models.training.features import Vgg19Features, load_vgg
from models.training.run import Run
from models.training.style_pack import PackTexts, add_lite, write_pack
from models.training.throughput import seconds_per_step
from models.training.trainer import train
from models.transformer_net import TransformerNetBaseline
from utils.devices import resolve, title
from utils.files.lists import read_list_file
from utils.files.locks import LockedError, locked
from utils.files.writable import write_error
from utils.images.opening import ImageError
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

PREVIEW_SIDE = 512  # long side, in pixels
IMPRESSION_SIDE = 384  # likewise, for the first preview, which should come early
STOPPED = 128 + 2  # the exit status that shells report for Ctrl+C
LOCK_TIMEOUT_S = 30.0  # time for another process to complete its step on a slow machine
ESTIMATE_PHOTOS = 64  # enough to measure the time of a step


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "train",
        help="train a style from a picture",
        description="Train a style from a picture. Ctrl+C writes a checkpoint; the same command "
        "with --resume continues. The losses are relative, so the same weights suit "
        "every style.",
    )
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Train a style; return 0, or 130 if Ctrl+C stopped the run, with a checkpoint."""
    if args.listen:
        interrupt_on_stdin()
    with make_reporter(as_json=args.json_progress) as report:
        try:
            return _run(args, report)
        except WholeFileNeededError as exc:
            report.whole_file_needed(exc.reason)
            raise StyleForgeError(str(exc)) from exc
        except (TrainingError, ImageError, CheckpointError) as exc:
            raise StyleForgeError(str(exc)) from exc
        except (MemoryError, RuntimeError) as exc:
            if not _is_out_of_memory(exc):
                raise
            raise StyleForgeError(
                f"not enough memory for {args.batch_size} photographs of {args.image_size} pixels "
                "in a step; choose a smaller --batch-size or --image-size"
            ) from exc


def _is_out_of_memory(exc: Exception) -> bool:
    # On a CPU PyTorch raises a plain RuntimeError.
    known = (MemoryError, torch.OutOfMemoryError)
    return isinstance(exc, known) or "can't allocate memory" in str(exc)


def _run(args: argparse.Namespace, report: Reporter) -> int:
    if args.checkpoint_interval < 1:
        raise TrainingError("the checkpoint interval must be at least 1")
    output = output_from_args(args)
    _check_resumable(output, args)
    if not args.resume:
        output.check_free(overwrite=args.overwrite)
    if why := write_error(output.result.parent):  # checked before training for hours
        raise TrainingError(f"cannot write to '{output.result.parent}': {why}")
    device = _device(args.device)
    if not 0 <= args.init_share < 1 or (args.init_share and not args.init):
        raise TrainingError("--init-share must be at least 0 and less than 1, and needs --init")
    weights = load_checkpoint(args.init) if args.init else None
    config = _config(args, device, _shape(args, weights))
    teacher = _teacher(args)
    style = read_pixels(args.style_image)
    thumbnail = _read_optional(args.thumbnail, args, report)
    preview_path = None if _read_optional(args.preview, args, report) is None else args.preview
    _show_impression(style, preview_path if args.estimate else None, output, report)
    paths = find_photographs(args.dataset, _excluded(args.exclude), args.skip_folder)
    features = _features(args, report)
    photographs = load_photographs(
        paths,
        config.square,
        min(args.cache_photos, ESTIMATE_PHOTOS) if args.estimate else args.cache_photos,
        config.seed,
        partial(report.loading, "Photographs"),
    )
    _report_photographs(photographs, len(paths), report)
    if args.epochs is not None and args.iterations is None:
        config = replace(config, iterations=config.for_epochs(args.epochs, len(photographs)))
    preview = PreviewImage(preview_path, photographs.pixels[0].numpy(), PREVIEW_SIDE)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # every batch has the same shape
        # In half precision only the Gram matrices use FP32; TF32 is accurate enough for them.
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
        return _estimate(training, report)
    with _exclusive(output, report):
        _check_resumable(output, args)  # another process may have written it meanwhile
        output.clear_leftovers()
        if args.resume:
            if damage := resume_run(output.checkpoint, training):
                report.note(damage)
            report.resumed(training.iteration, training.history)
        # The run was killed after its last step, before the style was written; or the user is
        # content.
        complete = training.finished or args.finish
        if not complete:
            output.check_free(overwrite=args.overwrite)
        report.note(
            f"Training on {title(device)} in {config.precision}, {len(photographs)} photographs"
        )
        if not complete:
            _run_training(training, output, args.checkpoint_interval, preview, report)
        if not (training.finished or args.finish):
            kept = f"the same command with --resume continues from '{output.checkpoint}'"
            report.note(
                f"Stopped at iteration {training.iteration} of {config.iterations}; "
                + (kept if output.checkpoint.exists() else "there is no checkpoint yet")
            )
            return STOPPED
        if weights is not None and args.init_share:
            training.go_back(weights, args.init_share)
        written = complete and not args.overwrite and output.holds(training.network.state_dict())
        if not written:
            output.check_free(overwrite=args.overwrite)
            _write(output, args, training, len(photographs), thumbnail, preview)
        output.forget_run()
    report.finished(output.result, training.seconds)
    return DONE


def _write(
    output: Output,
    args: argparse.Namespace,
    training: Run,
    photographs: int,
    thumbnail: NDArray[np.uint8] | None,
    preview: PreviewImage,
) -> None:
    facts = training_metadata(args, training, photographs)
    texts = PackTexts(args.title or output.title, args.credit, args.licence)
    state = training.network.state_dict()
    if output.only_weights:
        save_weights(output.result, state, texts, facts)
    elif output.lite_for_pack:
        add_lite(output.result, state, facts)
    else:
        shown = preview() if thumbnail is None else PreviewImage(None, thumbnail, PREVIEW_SIDE)()
        write_pack(output.result, texts, state, training.styled(shown), facts)


@contextmanager
def _exclusive(output: Output, report: Reporter) -> Iterator[None]:
    """Keep other processes from training the same style.

    Another process that is about to end gets LOCK_TIMEOUT_S seconds.

    Raises:
        TrainingError: If another process keeps the lock, or the folder cannot be written to.
    """
    with ExitStack() as held:
        try:
            try:
                held.enter_context(locked(output.checkpoint, 0))
            except LockedError:
                report.note("Waiting for another process that is training this style")
                held.enter_context(locked(output.checkpoint, LOCK_TIMEOUT_S))
        except LockedError as exc:
            raise TrainingError(
                f"another process is training '{output.result}'; stop it first"
            ) from exc
        except OSError as exc:
            reason = exc.strerror or exc
            raise TrainingError(f"cannot write to '{output.result.parent}': {reason}") from exc
        yield


def _check_resumable(output: Output, args: argparse.Namespace) -> None:
    """Raise TrainingError if the run to resume does not exist, or a new run would overwrite one."""
    if args.finish and not args.resume:
        raise TrainingError("--finish needs --resume")
    if output.checkpoint.exists() and not args.resume:
        raise TrainingError(
            f"'{output.checkpoint}' holds an unfinished run; pass --resume to continue it, or "
            "delete it to start over"
        )
    if args.resume and not output.checkpoint.exists():
        raise TrainingError(f"there is no run to resume: '{output.checkpoint}' does not exist")


def _read_optional(
    path: Path | None, args: argparse.Namespace, report: Reporter
) -> NDArray[np.uint8] | None:
    """Read an optional picture.

    If the picture cannot be read, a resumed run reports this and continues without it.

    Raises:
        ImageError: If the picture of a new run cannot be read.
    """
    try:
        return None if path is None else read_pixels(path)
    except ImageError as exc:
        if not args.resume:
            raise
        report.note(f"{exc}; the preview shows a photograph instead")
        return None


def _device(key: str) -> torch.device:
    try:
        return resolve(key)
    except ValueError as exc:
        raise TrainingError(str(exc)) from exc


def _shape(args: argparse.Namespace, weights: Mapping[str, torch.Tensor] | None) -> NetworkConfig:
    """Return the network of --network or --init.

    Raises:
        TrainingError: If the two differ.
    """
    asked = CONFIGS[args.network] if args.network else None
    if weights is None:
        return asked or FULL
    shape = network_config(weights)
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
    network = TransformerNetBaseline(**asdict(network_config(state)))
    network.load_state_dict(state)
    return network


def _config(args: argparse.Namespace, device: torch.device, shape: NetworkConfig) -> TrainingConfig:
    asked = {f.name: getattr(args, f.name) for f in fields(TrainingConfig) if f.name in args}
    asked = {name: value for name, value in asked.items() if value is not None}
    if asked["precision"] == "auto":
        modern = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        asked["precision"] = "bf16" if modern else "fp32"
    return TrainingConfig(**asked, **asdict(shape))


def _excluded(path: Path | None) -> list[str]:
    """Return the names of photographs to leave out.

    Raises:
        TrainingError: If the list cannot be read.
    """
    try:
        return [] if path is None else read_list_file(path)
    except ValueError as exc:
        raise TrainingError(str(exc)) from exc


def _features(args: argparse.Namespace, report: Reporter) -> Vgg19Features:
    path = args.vgg or cached_vgg(
        args.vgg_download, partial(report.loading, "VGG-19, bytes"), report.note
    )
    return load_vgg(path, args.vgg_input)


def _report_photographs(photographs: Photographs, available: int, report: Reporter) -> None:
    kept, skipped = len(photographs), photographs.skipped
    if available > kept + len(skipped):
        report.note(f"Training on {kept} of {available} photographs (see --cache-photos)")
    if skipped:
        more = f"; and {len(skipped) - 5} more" if len(skipped) > 5 else ""
        report.note(f"Skipped {len(skipped)}: {'; '.join(skipped[:5])}{more}")


def _run_training(
    training: Run,
    output: Output,
    interval: int,
    preview: PreviewImage,
    report: Reporter,
) -> None:
    """Run the training; if reporting fails, stop with a checkpoint and raise OSError."""
    unheard: OSError | None = None
    newest: Path | None = None
    with stop_requested() as stop:
        for progress in train(
            training,
            output.checkpoint,
            checkpoint_interval=interval,
            preview=preview,
            stop=stop.is_set,
        ):
            try:
                if progress.preview is not None:
                    newest = _save_preview(output.preview, progress.preview, report)
                report.progress(progress, newest)
            except OSError as exc:
                unheard = exc
                stop.set()
    if unheard is not None:
        raise unheard


def _estimate(training: Run, report: Reporter) -> int:
    pace = seconds_per_step(training)
    report.estimate(pace, training.config.iterations, title(training.device))
    return DONE


def _show_impression(
    style: NDArray[np.uint8], picture: Path | None, output: Output, report: Reporter
) -> None:
    """Show the picture as the any-style network paints it; the run's own has its old style."""
    if picture is None:
        return
    try:
        shown = PreviewImage(picture, style, IMPRESSION_SIDE)()
        painted = first_impression(Catalog.default().networks, style, shown)
    except (CheckpointError, ValueError) as exc:
        report.note(f"Cannot paint a first impression: {exc}")
        return
    if painted is not None:
        report.impression(_save_preview(output.preview, painted, report))


def _save_preview(path: Path, preview: NDArray[np.uint8], report: Reporter) -> Path | None:
    """Save a preview; a failure is reported and does not end the run."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_pixels(path, preview)
    except (ImageError, OSError) as exc:
        report.note(f"Cannot save the preview: {exc}")
        return None
    return path


if __name__ == "__main__":  # for machines with only the packages that training needs
    root = argparse.ArgumentParser(prog="python -m app.commands.train.command")
    add_parser(root.add_subparsers(required=True))
    try:
        sys.exit(run(root.parse_args(["train", *sys.argv[1:]])))
    except StyleForgeError as exc:
        sys.exit(f"styleforge: {exc}\n{advice_for(exc)}")
