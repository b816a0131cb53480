"""Style pictures of a command line: their files, their shares, and the styles made from them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import StylizeError
from app.engine.config import EngineConfig
from app.options import MOST_MIXED, Part, mixed_parts
from app.styles.library import Library


@dataclass(frozen=True, slots=True)
class StyleImage:
    """One `--style-image`; `share` is None if it was not specified."""

    path: Path
    share: float | None = None


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


def check_style_images(
    images: list[StyleImage], network: Path | None, mix: Sequence[tuple[str, float | None]]
) -> None:
    """Raise StylizeError if the flags for style pictures contradict each other."""
    if network is not None and not images:
        raise StylizeError("--style-network needs --style-image")
    if images and len(images) + len(mix) > MOST_MIXED:
        raise StylizeError(
            f"at most {MOST_MIXED} styles can be mixed, not {len(images) + len(mix)}"
        )
    if len(images) == 1 and images[0].share is not None:
        raise StylizeError(
            f"'{shown(images[0].path)}' is the only style picture, so it cannot have a share"
        )


def chosen_styles(
    args: argparse.Namespace, library: Library, folder: Path
) -> tuple[tuple[Part, ...], str]:
    """Return the styles of a command line with their shares, and the name of the look.

    Raises:
        StyleForgeError: If a style picture cannot be used, or the styles do not form a mix.
    """
    if not args.style_image:
        chosen = mix_of(args.style or EngineConfig().style, args.mix)
        return chosen, "+".join(key for key, _ in chosen)
    images: list[StyleImage] = args.style_image
    chosen = include_style_images(library, images, args.style_network, folder, args.mix)
    return chosen, "+".join([*(image.path.stem for image in images), *(key for key, _ in args.mix)])


def include_style_images(
    library: Library,
    images: list[StyleImage],
    network: Path | None,
    folder: Path,
    mix: Sequence[tuple[str, float | None]],
) -> tuple[Part, ...]:
    """Create the styles of pictures, which belong to this library only.

    Args:
        network: A file of `styleforge train-vit`; None for a built-in network.
        folder: A temporary folder for their packs; must exist while the engine may read them.
        mix: Further styles, with their shares of the whole; the pictures share the rest.

    Raises:
        StyleError: If a picture or the network cannot be used.
        StylizeError: If the shares of `mix` add up to more than 1.
    """
    keys = [
        library.include_picture(image.path, folder / f"style_image_{number}", network).key
        for number, image in enumerate(images, 1)
    ]
    whole, *others = mix_of(keys[0], mix)
    shares = _shares([image.share for image in images])
    pictures = [(key, share * whole[1]) for key, share in zip(keys, shares, strict=True)]
    return (*pictures, *others)


def mix_of(first: str, mix: Sequence[tuple[str, float | None]]) -> tuple[Part, ...]:
    """Return the styles of --style and --mix with shares.

    Raises:
        StylizeError: If the styles and shares do not form a valid mix.
    """
    try:
        return mixed_parts(first, mix)
    except ValueError as exc:
        raise StylizeError(str(exc)) from exc


def _shares(given: Sequence[float | None]) -> list[float]:
    """Return shares that add up to 1; missing ones split the rest; else all are normalized."""
    total = sum(share for share in given if share is not None)
    missing = given.count(None)
    if missing:
        left = max(0.0, 1 - total) / missing
        shares = [left if share is None else share for share in given]
    else:
        shares = [share or 0.0 for share in given]
    total = sum(shares)
    return [share / total if total else 1 / len(shares) for share in shares]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False
