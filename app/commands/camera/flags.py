"""The flags of `styleforge camera`."""

from __future__ import annotations

import argparse

from app.commands.argument_types import int_in_range
from app.commands.common_flags import (
    add_device,
    add_kernels,
    add_matte,
    add_precision,
    add_quiet,
    add_style,
)
from app.commands.style_flags import add_style_options
from app.engine.resolution import MAX_SIZE, SHORTEST
from app.options import CAMERA_FITS, CAMERA_FORMATS, Option
from app.virtual_camera.choice import CameraChoice, parse_size

DEFAULTS = CameraChoice()
MOST_RATE = 120  # pictures per second
SECONDS = 5  # how long each picture of a folder is shown


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "camera",
        help="show a styled stream to other programs, as a camera",
        description="Style a camera, video, folder or address and show it to other programs as a "
        "virtual camera, until Ctrl+C. The source pauses while no program reads the "
        "camera; only v4l2loopback 0.13 or newer reports that. Needs the extra "
        '"camera": pip install "styleforge[camera]".',
    )
    parser.add_argument(
        "--source",
        metavar="SPEC",
        default="camera:",
        help="camera:0, scene, a picture, video or folder, or an http:// or rtsp:// address "
        "(default: the first camera)",
    )
    add_style(parser)
    add_style_options(parser, streams=True)
    add_matte(parser)
    add_kernels(parser)
    add_precision(parser)
    add_device(parser)
    parser.add_argument(
        "--network-size",
        type=lambda text: int_in_range(text, SHORTEST, MAX_SIZE, "the network's size"),
        metavar="PIXELS",
        help="long side of the network's input (default: as large as this machine can style in "
        "time)",
    )
    parser.add_argument(
        "--size",
        type=_size,
        default=(DEFAULTS.width, DEFAULTS.height),
        metavar="WIDTHxHEIGHT",
        help=f"size of the virtual camera, in even numbers of pixels (default: {DEFAULTS.size})",
    )
    parser.add_argument(
        "--rate",
        type=lambda text: int_in_range(text, 1, MOST_RATE, "the rate"),
        default=DEFAULTS.rate,
        metavar="FPS",
        help=f"pictures per second sent to the virtual camera (default: {DEFAULTS.rate})",
    )
    _add_choice(
        parser, "format", "pixel format of the virtual camera", CAMERA_FORMATS, DEFAULTS.format
    )
    _add_choice(parser, "fit", "how to fit pictures of another shape", CAMERA_FITS, DEFAULTS.fit)
    parser.add_argument(
        "--camera",
        default="",
        metavar="NAME",
        help="the virtual camera, such as /dev/video2 (default: the first one found)",
    )
    parser.add_argument(
        "--always", action="store_true", help="keep running while no program reads the camera"
    )
    parser.add_argument(
        "--seconds",
        type=lambda text: int_in_range(text, 1, 24 * 3600, "the number of seconds"),
        default=SECONDS,
        help=f"seconds to show each picture of a folder (default: {SECONDS})",
    )
    add_quiet(parser)
    parser.add_argument(
        "--progress",
        choices=("line", "json"),
        default="line",
        help="show a line on a terminal, or print JSON lines on stdout for scripts, as the "
        "manual describes (default: line)",
    )


def _add_choice(
    parser: argparse.ArgumentParser, name: str, what: str, options: dict[str, Option], default: str
) -> None:
    told = ", ".join(
        f"{key}: {each.remark[:1].lower()}{each.remark[1:]}" for key, each in options.items()
    )
    parser.add_argument(
        f"--{name}",
        choices=list(options),
        default=default,
        help=f"{what} ({told}; default: {default})",
    )


def _size(text: str) -> tuple[int, int]:
    try:
        return parse_size(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
