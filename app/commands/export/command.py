"""`styleforge export`: writes the network of a style as a file for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from app.commands.common_flags import add_quiet
from app.exit_status import DONE
from app.export.network import FORMATS, ExportError, Wanted, export_network
from app.export.network.exporter import PRECISIONS
from app.styles.catalog import Catalog
from models.precision import Precision
from models.runtimes.program import Pictures
from utils.files.writable import write_error
from utils.text import printable

NETWORKS = ("full", "lite")
PICTURES = (Pictures.float, Pictures.uint8)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    endings = ", ".join(f"{ending} ({kind.title})" for ending, kind in FORMATS.items())
    parser = subparsers.add_parser(
        "export",
        help="export the network of a style for other programs",
        description="Writes the network of a style as ONNX, as a PyTorch program or for "
        "OpenVINO, with a small script that runs it. Keeps the file only if its own "
        "runtime paints what StyleForge paints. With --web, writes a web page that paints in "
        "the browser instead.",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="STYLE",
        help="a style, see `styleforge styles list`, and the file to write, which ends in one of "
        f"{endings}; with --web, one or more styles",
    )
    parser.add_argument(
        "--web",
        type=Path,
        metavar="DIR",
        help="write a static web page that paints photos and the webcam on the visitor's GPU "
        "(WebGPU), with the lite network of each style; DIR is for any web server",
    )
    parser.add_argument(
        "--network", choices=NETWORKS, default="full", help="size of the network (default: full)"
    )
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        default=Precision.fp32.name,
        help="precision of the weights; fp16 halves the size of the file (default: fp32)",
    )
    parser.add_argument(
        "--pictures",
        choices=[pictures.value for pictures in PICTURES],
        default=Pictures.float.value,
        help="input and output of the network, RGB from 0 to 255: float32 [1, 3, H, W] or uint8 "
        "[1, H, W, 3] (default: float)",
    )
    parser.add_argument(
        "--size",
        type=_size,
        metavar="WxH",
        help="the only input size that the file accepts, which NPUs need (default: any)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    add_quiet(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file and its script, report the check unless quiet, and return 0."""
    if args.web is not None:
        return _write_site(args)
    if len(args.names) != 2:
        raise ExportError("name one style and the file to write, or styles and --web DIR")
    style, output = args.names[0], Path(args.names[1])
    folder = output.absolute().parent
    if why := write_error(folder):
        raise ExportError(f"{printable(str(folder))} is not writable: {why}")
    wanted = Wanted(
        args.network == "lite",
        Precision[args.precision],
        Pictures(args.pictures),
        args.size,
        args.overwrite,
    )
    with Console(stderr=True, quiet=args.quiet).status("Starting") as status:
        exported = export_network(
            Catalog.default(),
            style,
            output,
            wanted,
            lambda step: status.update(f"{step} ..."),
        )
    if args.quiet:
        return DONE
    verified = exported.verified
    sizes = " and ".join(f"{width}x{height}" for width, height in dict.fromkeys(verified.sizes))
    megabytes = sum(file.stat().st_size for file in exported.files[:-1]) / 1e6
    names = " and ".join(printable(str(file)) for file in exported.files[:-1])
    sys.stdout.write(
        f"Wrote {names} ({megabytes:.1f} MB)\n"
        f"Checked in {exported.runtime} at {sizes}: differs from StyleForge by "
        f"{verified.figures} (bound: {verified.bound})\n"
        f"To run it: python {printable(str(exported.script))} photo.jpg styled.png\n"
    )
    return DONE


def _write_site(args: argparse.Namespace) -> int:
    from app.export.web.site import write_site  # with the shaders' generator

    catalog = Catalog.default()
    styles = [catalog.get(name) for name in args.names]
    try:
        write_site(args.web, styles)
    except OSError as exc:
        raise ExportError(
            f"cannot write the page to {printable(str(args.web))}: {exc.strerror or exc}"
        ) from exc
    if not args.quiet:
        sys.stdout.write(
            f"Wrote {printable(str(args.web / 'index.html'))} with {len(styles)} styles\n"
            f"To try it: python -m http.server --directory {printable(str(args.web))}\n"
        )
    return DONE


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected a size such as 1280x720, not {text}")
    return int(width), int(height)
