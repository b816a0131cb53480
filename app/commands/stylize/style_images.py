"""The style pictures of a command line: their files, their shares, and the styles made of them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.commands.stylize.jobs import StylizeError, shown
from app.options import DEFAULT_MIX_AMOUNT
from app.styles.library import Library

MOST = 2  # style pictures: the engine mixes two styles


@dataclass(frozen=True, slots=True)
class StyleImage:
    """One `--style-image`; `share` is None where none was given."""

    path: Path
    share: float | None = None


@dataclass(frozen=True, slots=True)
class ChosenStyles:
    """The keys of one or two styles, and the share of the second."""

    style: str
    mix: str | None
    mix_amount: float


def add_style_images(parser: argparse.ArgumentParser, group: argparse._ActionsContainer) -> None:
    """Add --style-image and --style-network.

    Args:
        parser: Receives the flags.
        group: Receives --style-image, which excludes the other flags of the group.
    """
    group.add_argument(
        "--style-image",
        action="append",
        type=style_image,
        default=[],
        metavar="PICTURE[:SHARE]",
        help="paint in the style of this picture, by an any-style network; a second one is mixed "
        "with it, as in --style-image a.jpg --style-image b.jpg:0.4",
    )
    parser.add_argument(
        "--style-network",
        type=Path,
        metavar="FILE",
        help="the any-style network for --style-image, a file of `styleforge train-vit` (default: "
        "the one of the networks that come with StyleForge that is for this device)",
    )


def style_image(text: str) -> StyleImage:
    """Parse "painting.jpg" or "painting.jpg:0.4". A file whose name ends like a share is a file.

    Raises:
        argparse.ArgumentTypeError: The share is not 0 to 1, or there is no name.
    """
    name, colon, number = text.rpartition(":")
    try:
        share = float(number) if colon and not _is_file(text) else None
    except ValueError:  # a colon of the name, as in C:/painting.jpg
        share = None
    if share is None:
        name = text
    elif not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(
            f"the share of a style picture is 0 to 1, as in painting.jpg:0.4, not {number}"
        )
    if not name:
        raise argparse.ArgumentTypeError("a style picture is a file, not an empty name")
    return StyleImage(Path(name), share)


def check_style_images(images: list[StyleImage], network: Path | None, mix: str | None) -> None:
    """StylizeError where the flags for style pictures do not fit each other."""
    if network is not None and not images:
        raise StylizeError("--style-network is the network for --style-image, which is missing")
    if len(images) > MOST:
        raise StylizeError(f"at most {MOST} style pictures can be mixed, not {len(images)}")
    if len(images) == MOST and mix is not None:
        raise StylizeError("two style pictures are mixed already; --mix would be a third style")
    if len(images) == 1 and images[0].share is not None:
        raise StylizeError(
            f"'{shown(images[0].path)}' is the only style picture, so it has no share"
        )


def include_style_images(
    library: Library,
    images: list[StyleImage],
    network: Path | None,
    folder: Path,
    mix: tuple[str, float] | None,
    kind: str,
) -> ChosenStyles:
    """Make the styles of one or two pictures, which belong to this library only.

    Args:
        library: Receives them.
        images: The pictures.
        network: A file of `styleforge train-vit`; None for the one that ships.
        folder: A temporary folder for their packs, to be kept while the engine may read them.
        mix: The second style of `--mix`, for a single picture.
        kind: Of the device that paints, as torch.device.type.

    Raises:
        StyleError: A picture or the network cannot be used.
    """
    keys = [
        library.include_picture(
            image.path, folder / f"style_image_{number}", network, kind=kind
        ).key
        for number, image in enumerate(images, 1)
    ]
    if len(keys) == MOST:
        return ChosenStyles(keys[0], keys[1], _share(images[0].share, images[1].share))
    key, amount = mix or (None, DEFAULT_MIX_AMOUNT)
    return ChosenStyles(keys[0], key, amount)


def _share(first: float | None, second: float | None) -> float:
    """The share of the second picture, 0 to 1; shares of both are taken in proportion."""
    if second is None:
        return DEFAULT_MIX_AMOUNT if first is None else 1 - first
    if first is None:
        return second
    total = first + second
    return second / total if total else DEFAULT_MIX_AMOUNT


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # no file can have this name
        return False
