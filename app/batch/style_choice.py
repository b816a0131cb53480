"""The styles of a run: a style or style pictures, and further styles to mix in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.error import StylizeError, shown
from app.engine.config import EngineConfig
from app.options import MOST_MIXED, Part, mixed_parts
from app.styles.catalog import Catalog


@dataclass(frozen=True, slots=True)
class StyleImage:
    """A style picture and its share among the pictures; None if it was not specified."""

    path: Path
    share: float | None = None


@dataclass(frozen=True, slots=True)
class StyleChoice:
    """The styles of a run.

    Attributes:
        style: Key of the style, unless there are pictures; None for the default.
        images: Style pictures.
        network: The any-style network for the pictures, a file of `styleforge train-vit`; None for
            a built-in network.
        mix: Further styles, with their shares of the whole; the first styles share the rest.
    """

    style: str | None = None
    images: tuple[StyleImage, ...] = ()
    network: Path | None = None
    mix: tuple[tuple[str, float | None], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the styles that must be in the catalog."""
        first = () if self.images else (self.style or EngineConfig().style,)
        return (*first, *(key for key, _ in self.mix))

    @property
    def name(self) -> str:
        """The name of the look: the names of all its styles."""
        return "+".join([*(image.path.stem for image in self.images), *self.keys])

    def check(self) -> None:
        """Raise StylizeError if the style pictures contradict the other fields."""
        images, mixed = self.images, len(self.images) + len(self.mix)
        if self.network is not None and not images:
            raise StylizeError("--style-network needs --style-image")
        if images and mixed > MOST_MIXED:
            raise StylizeError(f"at most {MOST_MIXED} styles can be mixed, not {mixed}")
        if len(images) == 1 and images[0].share is not None:
            raise StylizeError(
                f"'{shown(images[0].path)}' is the only style picture, so it cannot have a share"
            )

    def parts(self, catalog: Catalog, folder: Path) -> tuple[Part, ...]:
        """Return the styles with their shares; make the styles of pictures for this catalog only.

        Args:
            folder: A temporary folder for their packs; must exist while the engine may read them.

        Raises:
            StyleError: If a picture or the network cannot be used.
            StylizeError: If the styles and shares do not form a valid mix.
        """
        if not self.images:
            return mix_of(self.style or EngineConfig().style, self.mix)
        keys = [
            catalog.include_picture(image.path, folder / f"style_image_{number}", self.network).key
            for number, image in enumerate(self.images, 1)
        ]
        whole, *others = mix_of(keys[0], self.mix)
        shares = _shares([image.share for image in self.images])
        pictures = [(key, share * whole[1]) for key, share in zip(keys, shares, strict=True)]
        return (*pictures, *others)


def mix_of(first: str, mix: Sequence[tuple[str, float | None]]) -> tuple[Part, ...]:
    """Return a style and the styles to mix in with shares.

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
