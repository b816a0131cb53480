"""`styleforge vit-sheet`: paints photographs in the styles of pictures, on one contact sheet."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from app.errors import StyleForgeError
from app.exit_status import DONE
from benchmarks.quality.contact_sheet import save_sheet
from models.checkpoints import CheckpointError
from models.evaluation.flicker import panned_flicker, still_flicker
from models.evaluation.image_metrics import to_pixels, to_tensor
from models.training.run import fit
from models.vit_checkpoints import load_vit
from models.vit_style_transfer import MIN_SIDE, StyleForgeTransformer
from utils.devices import resolve
from utils.images.opening import ImageError
from utils.images.reading import read_pixels

SIZE, STYLE_SIZE = 384, 320  # long sides, in pixels
FLICKER_FRAMES = 12


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "vit-sheet",
        help="paint photographs in several styles on one contact sheet",
        description="Paint every photograph in the style of every picture with an any-style "
        "network. The sheet has a row for each photograph and a column for each "
        "style.",
    )
    need = parser.add_argument
    need("weights", type=Path, help="a .safetensors file of `styleforge train-vit`")
    need("--photos", type=Path, nargs="+", required=True, metavar="FILE", help="photographs")
    need("--styles", type=Path, nargs="+", required=True, metavar="FILE", help="style pictures")
    need(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the sheet, a PNG, JPEG or WebP file",
    )
    need("--size", type=int, default=SIZE, help=f"long side of the results (default: {SIZE})")
    need(
        "--style-size",
        type=int,
        default=STYLE_SIZE,
        help=f"long side of the style pictures as the network sees them (default: {STYLE_SIZE})",
    )
    need(
        "--painted-only",
        action="store_true",
        help="leave the photographs and style pictures out of the sheet",
    )
    need("--device", default="auto", help="auto, cpu, cuda:0, ... (default: auto, a GPU if any)")
    need(
        "--flicker",
        action="store_true",
        help="also print the flicker in each style, measured on the first photograph",
    )


def run(args: argparse.Namespace) -> int:
    try:
        return _run(args)
    except (CheckpointError, ImageError, ValueError) as exc:
        raise StyleForgeError(str(exc)) from exc


def _run(args: argparse.Namespace) -> int:
    if min(args.size, args.style_size) < MIN_SIDE:
        raise StyleForgeError(f"a size must be at least {MIN_SIDE} pixels")
    device = resolve(args.device)
    network = load_vit(args.weights).network().to(device)
    styles = [_read(path, args.style_size) for path in args.styles]
    photographs = [_read(path, args.size) for path in args.photos]
    with torch.inference_mode():
        codes = [network.encode_style(to_tensor(style, device)) for style in styles]
        names = [path.stem for path in args.styles]
        titles = names if args.painted_only else ["", *names]
        rows: list[tuple[str, list[NDArray[np.uint8]]]] = []
        if not args.painted_only:
            rows.append(("", [photographs[0], *styles]))
        for path, photograph in zip(args.photos, photographs, strict=True):
            content = to_tensor(photograph, device)
            painted = [to_pixels(network.stylize(content, code)) for code in codes]
            shown = painted if args.painted_only else [photograph, *painted]
            rows.append((path.stem, shown))
        save_sheet(args.output, titles, rows, args.size)
        if args.flicker:
            scene = to_tensor(photographs[0], device)
            _print_flicker(network, scene, dict(zip(names, codes, strict=True)))
    return DONE


def _read(path: Path, long_side: int) -> NDArray[np.uint8]:
    """Read a picture, resized to `long_side`.

    Raises:
        StyleForgeError: If the resized picture is narrower than MIN_SIDE pixels.
    """
    picture = fit(read_pixels(path), long_side)
    if min(picture.shape[:2]) < MIN_SIDE:
        raise StyleForgeError(f"'{path.name}' is too narrow at a long side of {long_side} pixels")
    return picture


def _print_flicker(network: StyleForgeTransformer, scene: Tensor, codes: dict[str, Tensor]) -> None:
    """Print, per style, the flicker of a still and of a panned scene relative to the source's."""
    found: list[tuple[float, float]] = []
    for name, code in codes.items():

        def style(frames: Tensor, code: Tensor = code) -> Tensor:
            return network.stylize(frames, code)

        still = still_flicker(style, scene, frames=FLICKER_FRAMES)
        panned = panned_flicker(style, scene, frames=FLICKER_FRAMES)
        found.append((still, panned))
        sys.stdout.write(f"{name}: still {still:.2f}, panned {panned:.2f}\n")
    means = [fmean(values) for values in zip(*found, strict=True)]
    sys.stdout.write(f"mean: still {means[0]:.2f}, panned {means[1]:.2f}\n")
