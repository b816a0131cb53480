"""The flags for style pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.batch.style_choice import StyleImage


def add_style_images(parser: argparse.ArgumentParser, group: argparse._ActionsContainer) -> None:
    """Add --style-image, which excludes the other flags of `group`, and --style-network."""
    group.add_argument(
        "--style-image",
        action="append",
        type=style_image,
        default=[],
        metavar="PICTURE[:SHARE]",
        help="paint in the style of this picture with an any-style network; up to four can be "
        "mixed, as in --style-image a.jpg --style-image b.jpg:0.4",
    )
    parser.add_argument(
        "--style-network",
        type=Path,
        metavar="FILE",
        help="the any-style network for --style-image, a file written by `styleforge train-vit` "
        "(default: the shipped network for this device)",
    )


def style_image(text: str) -> StyleImage:
    """Parse "painting.jpg" or "painting.jpg:0.4"; an existing file's name wins.

    Raises:
        argparse.ArgumentTypeError: If the share is not 0 to 1, or the name is empty.
    """
    name, colon, number = text.rpartition(":")
    try:
        share = float(number) if colon and not _is_file(text) else None
    except ValueError:  # a colon in the name, as in C:/painting.jpg
        share = None
    if share is None:
        name = text
    elif not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(
            "the share of a style picture must be from 0 to 1, as in painting.jpg:0.4, not "
            f"{number}"
        )
    if not name:
        raise argparse.ArgumentTypeError("--style-image needs the name of a file")
    return StyleImage(Path(name), share)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False
