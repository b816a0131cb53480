"""Command line entry point. Without a command it opens the window; commands run without Qt."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TextIO

from app.commands.style_flags import add_style_options
from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError, advice_for
from app.exit_status import EXIT_STATUSES, FAILED, INTERRUPTED, WRONG_USAGE
from app.processes.language import adopt
from app.version import styleforge_version
from utils.leaving import record_status
from utils.text import printable
from utils.threads import limit_openmp_spin

# A command is a module of this name in app.commands ("_" for "-"), imported only when it is used,
# so that `--help` and `--version` need not wait for PyTorch.
COMMANDS = {
    "stylize": "stylize pictures and folders of pictures",
    "camera": "show a styled stream to other programs, as a camera",
    "queue": "queue jobs that survive quitting and crashes, and watch folders",
    "export": "export the network of a style for other programs",
    "merge-manifests": "list the pictures missing from a run shared by several processes",
    "serve": "style pictures for programs and a web page on this machine",
    "bench": "measure the network's variants on this machine",
    "train": "train a style from a picture",
    "train-vit": "train an any-style network, which paints in the style of any picture",
    "vit-sheet": "paint photographs in several styles on one contact sheet",
    "quality": "measure the quality of styles on photographs",
    "styles": "list, add and remove styles",
    "tune": "find the fastest kernels for this machine's NVIDIA card",
    "doctor": "report what this machine can do, and what is missing",
    "gpu": "install the PyTorch that uses this machine's NVIDIA card",
    "install-menu": "add StyleForge to the applications menu (Linux)",
    "completion": "print a script that completes commands and flags in a shell",
    "man": "print the manual page",
}
# These describe every command, so they get the parser of all commands.
OF_ALL = ("completion", "man")

MB_ICONERROR = 0x10
_EXIT_STATUSES = "\n".join(
    ("exit status:", *(f"  {status:<3}  {meaning}" for status, meaning in EXIT_STATUSES.items()))
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit status, one of EXIT_STATUSES.

    With None, the arguments are this process's.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    # Without a terminal (pythonw, `>&-`) Python has no streams to write to.
    sys.stdout = sys.stdout or _null_stream()
    if sys.stderr:
        return record_status(_main(argv))
    sys.stderr = told = StringIO()
    status = record_status(_main(argv))
    if status and sys.platform == "win32":
        _show_message(told.getvalue())  # started from the Start menu, where stderr is not visible
    return status


def _main(argv: list[str]) -> int:
    limit_openmp_spin()
    adopt()
    # The window and the commands prepare the kernels and report missing ones themselves.
    warnings.filterwarnings("ignore", "StyleForge's native kernels")
    # PyTorch 2.9 warns so about settings that all versions since then still have.
    warnings.filterwarnings("ignore", "Please use the new API settings to control TF32")
    try:
        status = _run(argv)
        sys.stdout.flush()  # here, where an error can still be reported
    except StyleForgeError as exc:
        _write_error(str(exc), exc)
        return FAILED
    except KeyboardInterrupt as exc:
        sys.stderr.write(f"\n{str(exc) or 'Stopped.'}\n")
        return INTERRUPTED
    except OSError as exc:
        _discard_stdout()
        if not isinstance(exc, BrokenPipeError):  # a closed pipe (`| head`) is not an error
            place = f"'{exc.filename}': " if exc.filename else ""
            _write_error(f"{place}{exc.strerror or exc}", exc)
        return FAILED
    return status


def _write_error(message: str, exc: Exception) -> None:
    shown = printable(message, MAX_MESSAGE_LENGTH)
    sys.stderr.write(f"styleforge: {shown}\n{advice_for(exc)}\n")


class HelpFormatter(argparse.HelpFormatter):
    """A help formatter that keeps the lines of multi-line text and fills other text."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "\n".join(indent + line for line in text.splitlines())
        return super()._fill_text(text, width, indent)


class ArgumentParser(argparse.ArgumentParser):
    """The parser of the program and of every command; its help ends with the exit statuses.

    It escapes control characters in error messages, since arguments can be arbitrary file names.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"epilog": _EXIT_STATUSES, "formatter_class": HelpFormatter} | how)

    def error(self, message: str) -> NoReturn:
        """Print `message` with unprintable characters escaped, and exit with status 2."""
        super().error(printable(message, MAX_MESSAGE_LENGTH))


def _run(argv: Sequence[str]) -> int:
    command = argv[0] if argv and argv[0] in COMMANDS else None
    if argv and command is None and argv[0][:1] != "-" and Path(argv[0]).exists():
        argv = ["--open", *argv]
    try:
        parser = _parser(command)
        args = parser.parse_args(argv)
    except SystemExit as exc:  # argparse has already printed the reason
        return exc.code if isinstance(exc.code, int) else WRONG_USAGE
    if command in OF_ALL:
        args.program = parser
    if command:
        return _command_module(command).run(args)
    if args.command:
        sys.stderr.write(f"styleforge: put '{args.command}' before the options\n")
        return WRONG_USAGE
    return _load_window()(args)


def _command_module(name: str) -> ModuleType:
    return import_module(f"{__package__}.commands.{name.replace('-', '_')}")


def _discard_stdout() -> None:
    """Flush stdout, or redirect it to the null device if that fails.

    Otherwise Python would try again at exit and fail again.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_message(text: str) -> None:
    """Show an error in a Windows message box, since Qt itself may have failed to load."""
    windows: Any = ctypes
    windows.windll.user32.MessageBoxW(None, text.strip(), "StyleForge", MB_ICONERROR)


def _null_stream() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  (it stays open)


def _load_window() -> Callable[[argparse.Namespace], int]:
    try:
        from app.ui.application import run
    except ImportError as exc:  # usually because a system library that Qt needs is missing
        raise StyleForgeError(
            f"the window cannot be loaded: {exc}; `styleforge doctor` reports what is missing"
        ) from exc
    return run


def _parser(command: str | None) -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="styleforge",
        description="Live neural style transfer. Without a command, the window opens. "
        "`styleforge PATH ...` opens files in it.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {styleforge_version()}")
    sources = parser.add_mutually_exclusive_group()
    sources.add_argument(
        "--source",
        metavar="SPEC",
        help="the source to open: camera:0, scene, a picture, video or folder, "
        "or an http:// or rtsp:// address (default: the last one)",
    )
    sources.add_argument(
        "--open",
        nargs="*",
        default=[],
        metavar="PATH",
        help="pictures, a video or a folder to open, as a file manager names them",
    )
    parser.add_argument("--style", metavar="KEY", help="the style to start with")
    add_style_options(parser, kept=True, streams=True)
    parser.add_argument(
        "--matte",
        metavar="FILE",
        help="paint only the person: FILE is a segmentation network as ONNX, or a picture of the "
        "empty scene (Shift+Z learns it from the camera)",
    )
    parser.add_argument(
        "--pictures",
        type=int,
        metavar="N",
        help="close the window after N styled pictures and print the time to the first one",
    )
    parser.add_argument(
        "--new-window",
        action="store_true",
        default=None,  # like other unset flags of the window, which no command records
        help="open another window; otherwise a window that is open takes the files (Ctrl+Shift+N)",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        if name == command or command in OF_ALL:
            _command_module(name).add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser
