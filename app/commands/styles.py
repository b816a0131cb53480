"""`styleforge styles`: lists, adds, exports and removes styles."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.errors import ADVICE, MAX_MESSAGE_LENGTH
from app.exit_status import DONE
from app.styles.catalog import Catalog
from app.styles.pack import MAX_NAME_LENGTH, StyleError
from app.styles.style_file import ENDING
from utils.files.names import portable_name
from utils.text import printable


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("styles", help="list, add, export and remove styles")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", help="default: list")
    actions.add_parser("list", help="list the styles (built-in styles cannot be removed)")
    add = actions.add_parser("add", help="install checkpoints or style packs")
    add.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a .safetensors or .pth checkpoint, a .styleforge file, or the folder of a style pack",
    )
    add.add_argument("--title", default="", help="its name in the gallery (default: the file's)")
    picture = actions.add_parser(
        "add-picture",
        help="make styles from pictures, with an any-style network",
        description="Make a style from each picture. The style pack stores the picture, at most "
        "512 pixels per side, and the style code that the network computed.",
    )
    picture.add_argument("paths", nargs="+", type=Path, metavar="PICTURE", help="a style picture")
    picture.add_argument(
        "--title", default="", help="its name in the gallery (default: the file's)"
    )
    picture.add_argument(
        "--network",
        type=Path,
        metavar="FILE",
        help="a file written by `styleforge train-vit`, which StyleForge copies (default: the "
        "shipped network for this machine)",
    )
    export = actions.add_parser(
        "export",
        help="write each style to a .styleforge file",
        description="Write each style to a file KEY.styleforge, which can be imported on another "
        "machine.",
    )
    export.add_argument("keys", nargs="+", metavar="KEY", help="see `styleforge styles list`")
    export.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder for the files (default: the current folder)",
    )
    into = actions.add_parser("import", help="install styles from .styleforge files")
    into.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="a .styleforge file")
    into.add_argument("--title", default="", help="its name in the gallery (default: the file's)")
    remove = actions.add_parser("remove", help="delete added styles")
    remove.add_argument("keys", nargs="+", metavar="KEY", help="see `styleforge styles list`")


def run(args: argparse.Namespace) -> int:
    """List, add, export or remove styles; return 1 if a listed pack is broken, 0 otherwise."""
    catalog = Catalog.default()
    if args.action == "import":
        for path in args.paths:
            if path.suffix.lower() != ENDING:
                name = printable(path.name, MAX_NAME_LENGTH)
                raise StyleError(
                    f"'{name}' is not a {ENDING} file; use `styles add` for other files"
                )
    if args.action in ("add", "import"):
        for path in args.paths:
            style = catalog.install(path, args.title)
            sys.stdout.write(f"Added {style.title} as '{style.key}'\n")
    elif args.action == "add-picture":
        for path in args.paths:
            style = catalog.install_picture(path, args.network, args.title)
            sys.stdout.write(f"Added {style.title} as '{style.key}'\n")
    elif args.action == "export":
        for key in args.keys:
            written = catalog.export_file(key, args.output / f"{portable_name(key)}{ENDING}")
            sys.stdout.write(f"Wrote {printable(str(written))}\n")
    elif args.action == "remove":
        for key in args.keys:
            title = catalog.get(key).title
            catalog.remove(key)
            sys.stdout.write(f"Removed {title}\n")
    else:
        return _list(catalog)
    return DONE


_WIDEST = 40  # characters in a column; a longer text does not widen other rows


def _list(catalog: Catalog) -> int:
    rows = [
        (printable(style.key), style.title, "built in" if style.builtin else "added", style.credit)
        for style in catalog.styles
    ]
    widths = [
        max((min(len(row[column]), _WIDEST) for row in rows), default=0) for column in range(3)
    ]
    for key, title, origin, credit in rows:
        line = f"{key:{widths[0]}}  {title:{widths[1]}}  {origin:{widths[2]}}  {credit}"
        sys.stdout.write(line.rstrip() + "\n")
    for sentence in catalog.broken:
        sys.stderr.write(f"styleforge: {printable(sentence, MAX_MESSAGE_LENGTH)}\n")
    if catalog.broken:
        sys.stderr.write(f"{ADVICE['StyleError']}\n")
    return 1 if catalog.broken else 0
