"""The style pictures of a command line: their files, their shares, and the styles made of them."""

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
    """One `--style-image`; `share` is None where none was given."""

    path: Path
    share: float | None = None


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
        help="paint in the style of this picture, by an any-style network; up to four are "
        "mixed, as in --style-image a.jpg --style-image b.jpg:0.4",
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


def check_style_images(
    images: list[StyleImage], network: Path | None, mix: Sequence[tuple[str, float | None]]
) -> None:
    """StylizeError where the flags for style pictures do not fit each other."""
    if network is not None and not images:
        raise StylizeError("--style-network is the network for --style-image, which is missing")
    if images and len(images) + len(mix) > MOST_MIXED:
        raise StylizeError(
            f"at most {MOST_MIXED} styles can be mixed, not {len(images) + len(mix)}"
        )
    if len(images) == 1 and images[0].share is not None:
        raise StylizeError(
            f"'{shown(images[0].path)}' is the only style picture, so it has no share"
        )


def chosen_styles(
    args: argparse.Namespace, library: Library, folder: Path
) -> tuple[tuple[Part, ...], str]:
    """The styles of a command line with their shares, and the name of the look.

    Args:
        args: What the flags were parsed to.
        library: Receives the styles of pictures.
        folder: As of `include_style_images`.

    Raises:
        StyleForgeError: A style picture cannot be used, or the styles are no mix.
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
    """Make the styles of pictures, which belong to this library only.

    Args:
        library: Receives them.
        images: The pictures, at least one.
        network: A file of `styleforge train-vit`; None for the one that ships.
        folder: A temporary folder for their packs, to be kept while the engine may read them.
        mix: Further styles, with their shares of the whole; the pictures share what they leave.

    Returns:
        The keys of all styles with shares that add up to 1.

    Raises:
        StyleError: A picture or the network cannot be used.
        StylizeError: The shares of `mix` add up to more than 1.
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
    """The styles of `--style` and of every `--mix` with their shares; StylizeError if that is no
    mix."""
    try:
        return mixed_parts(first, mix)
    except ValueError as exc:
        raise StylizeError(str(exc)) from exc


def _shares(given: Sequence[float | None]) -> list[float]:
    """The shares of style pictures, which add up to 1: those without one share what the others
    leave; where all have one, they count in proportion."""
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
    except (OSError, ValueError):  # no file can have this name
        return False
