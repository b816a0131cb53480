"""`styleforge serve`: a REST server and a web page, for this machine alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from app.commands.argument_types import int_in_range
from app.commands.common_flags import add_device, add_kernels, add_precision, add_quiet
from app.errors import StyleForgeError
from app.processes.stop_signal import stop_requested
from app.server.address import LOOPBACK, AddressError, loopback
from app.server.limits import Limits

PORT = 8765
WAIT_S = 0.5  # how often to check whether the server's own thread has ended
MOST = 1_000_000  # of each limit
DEFAULTS = Limits()


class ServeError(StyleForgeError):
    """Raised if the server cannot be started, or has ended by itself."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "serve",
        help="style pictures for programs and a web page on this machine",
        description="Serve a web page that styles pictures, and a REST interface that /docs "
        "describes, to this machine only. Prints the address with a token; anyone "
        "who has the token can use the server. Ctrl+C finishes the current picture "
        'and stops the server. Needs the extra "serve": pip install '
        '"styleforge[serve]".',
    )
    parser.add_argument(
        "--host",
        action="append",
        type=_address,
        metavar="ADDRESS",
        help=f"{' or '.join(LOOPBACK)}, or both with two --host flags (default: {LOOPBACK[0]})",
    )
    parser.add_argument(
        "--port",
        type=lambda text: int_in_range(text, 0, 65535, "the port"),
        default=PORT,
        help=f"port to listen on; 0 chooses a free one (default: {PORT})",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file with the token, for programs; created with a new token if it does not exist; "
        "the token is then not printed (default: a new token at each start)",
    )
    parser.add_argument(
        "--queue",
        type=Path,
        metavar="FOLDER",
        help="folder for the jobs and their results (default: your own)",
    )
    parser.add_argument(
        "--matte",
        "--background",
        type=Path,
        metavar="FILE",
        help="find people for the options paint, feather and swap_matte of a picture: FILE is a "
        "picture of the empty scene, or a segmentation network as ONNX, with one picture in and "
        "one mask out",
    )
    _add_limit(parser, "--max-megabytes", DEFAULTS.bytes >> 20, "megabytes per picture file")
    _add_limit(parser, "--max-megapixels", DEFAULTS.pixels // 10**6, "megapixels per picture")
    _add_limit(parser, "--max-requests", DEFAULTS.per_minute, "requests per minute")
    _add_limit(parser, "--max-waiting", DEFAULTS.waiting, "waiting pictures")
    _add_limit(parser, "--max-styles", DEFAULTS.styles, "styles made from pictures")
    add_kernels(parser)
    add_precision(parser)
    add_device(parser)
    add_quiet(parser, "only the addresses and errors")


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises:
        StyleForgeError: If the server cannot be started.
        KeyboardInterrupt: If it was stopped.
    """
    try:
        from app.server.server import serving
    except ImportError as exc:
        raise ServeError(
            f'`styleforge serve` needs the extra "serve" (pip install "styleforge[serve]"): {exc}'
        ) from exc
    from app.commands.serve.painter import EnginePainter
    from app.server.access import new_token, token_of
    from app.server.jobs import Jobs
    from app.styles.catalog import Catalog
    from models.precision import Precision

    token = new_token() if args.token_file is None else token_of(args.token_file)
    limits = Limits(
        args.max_megabytes << 20,
        args.max_megapixels * 10**6,
        args.max_requests,
        args.max_waiting,
        args.max_styles,
    )
    with stop_requested() as asked:
        with Console(stderr=True, quiet=args.quiet).status("Preparing the native kernels ..."):
            painter = EnginePainter(
                Catalog.default(),
                kernels=args.kernels,
                precision=Precision[args.precision],
                device=args.device,
                matte="" if args.matte is None else str(args.matte.absolute()),
            )
        with serving(
            painter,
            token,
            addresses=args.host or LOOPBACK[:1],
            port=args.port,
            limits=limits,
            jobs=(args.queue or Jobs.default_folder()).absolute(),
        ) as server:
            for url in server.urls:
                end = "" if args.token_file else f"#token={token}"
                sys.stdout.write(f"{url}{end}\n")
            sys.stdout.flush()
            while server.thread.is_alive() and not asked.wait(WAIT_S):
                pass
            died = not server.thread.is_alive()
    if died:
        raise ServeError("the server ended unexpectedly")
    raise KeyboardInterrupt("Stopped.")


def _add_limit(parser: argparse.ArgumentParser, flag: str, default: int, what: str) -> None:
    parser.add_argument(
        flag,
        type=lambda text: int_in_range(text, 1, MOST, "the limit"),
        default=default,
        metavar="N",
        help=f"maximum number of {what} (default: {default})",
    )


def _address(text: str) -> str:
    try:
        return loopback(text)
    except AddressError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
