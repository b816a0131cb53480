"""Sources of a new pack: a checkpoint, another pack, or a picture with an any-style network."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.options import AS_THEY_ARE
from app.styles.pack import (
    MAX_NAME_LENGTH,
    Style,
    StyleError,
    check_all_weights,
    load_pack,
    one_line,
)
from utils.files import toml
from utils.text import printable
from utils.translation.joints import labeled
from utils.translation.texts import tr

if TYPE_CHECKING:  # PyTorch and Pillow are imported only when a style is installed
    import numpy as np
    from numpy.typing import NDArray

    from app.styles.painted_strokes import Strokes
    from models.families.any_style import AnyStyleNetwork

KEPT_SIZE = 512  # largest long side in pixels of a style picture in a pack
THUMBNAIL_SIZE = 192
# Automatic texture in pictures for a painting whose strokes have a direction. With the default
# amount of picture styles, strokes are hard to see; with more, the network's patches show.
DIRECTED_TEXTURE = 0.5


@dataclass(frozen=True, slots=True)
class Installable:
    """A style that was read and validated, but is not a pack of the user yet.

    Attributes:
        contents: Its weights, as returned by the `read` of its family of networks.
        spec: The pack it comes from; None for a checkpoint or a picture.
        lite: The weights of the lite network, likewise.
        thumbnail: [H, W, 3] uint8.
        picture: The style picture, [H, W, 3] uint8.
        strokes: How the strokes of the style picture lie; None to take it from `spec`.
    """

    title: str
    family: str
    contents: Any
    spec: Style | None = None
    lite: Any = None
    thumbnail: NDArray[np.uint8] | None = None
    picture: NDArray[np.uint8] | None = None
    strokes: Strokes | None = None

    def write(self, folder: Path, title: str) -> None:
        """Write the files of a pack to an empty folder.

        Raises:
            CheckpointError: If the weights cannot be stored.
            ImageError: If a picture cannot be written.
            OSError: If a file cannot be written.
        """
        from models.families.keys import FEED_FORWARD
        from models.families.table import FAMILIES
        from utils.images.writing import write_pixels

        family = FAMILIES[self.family]
        weights = folder / "weights.safetensors"
        family.write(weights, self.contents, {"title": title})
        pictures = {"thumbnail": self.thumbnail, "picture": self.picture}
        names = {what: f"{what}.png" for what, pixels in pictures.items() if pixels is not None}
        for what, pixels in pictures.items():
            if pixels is not None:
                # The user waits for the style; a small file matters less.
                write_pixels(folder / names[what], pixels, compression=1)
        lines: dict[str, toml.Value] = {
            "title": title,
            "credit": self.spec.credit if self.spec else "",
            "licence": self.spec.licence if self.spec else "",
            "weights": weights.name,
            "thumbnail": names.get("thumbnail", ""),
            "sha256": _sha256(weights),
        }
        if self.family != FEED_FORWARD:  # a pack without this line belongs to that family
            lines["family"] = self.family
        if self.picture is not None:
            lines["picture"] = names["picture"]
        lines |= self._amounts()
        if self.lite is not None:
            weights = folder / "lite.safetensors"
            family.write(weights, self.lite, {"title": f"{title}, lite"})
            lines["lite_weights"] = weights.name
            lines["lite_sha256"] = _sha256(weights)
        (folder / "style.toml").write_text(toml.dumps(lines), "utf-8", newline="\n")

    def _amounts(self) -> dict[str, toml.Value]:
        """Return the automatic texture and strokes; for a checkpoint, its family has them."""
        if self.strokes is not None:
            directed = self.strokes.direction != AS_THEY_ARE
            return {
                **({"texture": DIRECTED_TEXTURE} if directed else {}),
                "strokes_direction": self.strokes.direction,
                "strokes_length": self.strokes.length,
            }
        if self.spec is None:
            return {}
        return {
            "texture": self.spec.texture,
            "stream_texture": self.spec.stream_texture,
            "strokes_direction": self.spec.strokes_direction,
            "stream_strokes_direction": self.spec.stream_strokes_direction,
            "strokes_length": self.spec.strokes_length,
        }


def read_installable(path: Path) -> Installable:
    """Read a checkpoint or a pack.

    Raises:
        StyleError: If `path` is neither.
    """
    from models.checkpoints import CheckpointError
    from models.families.table import FAMILIES, family_of
    from utils.images.opening import ImageError
    from utils.images.reading import read_pixels

    name = printable(path.name, MAX_NAME_LENGTH)
    try:
        is_pack = stat.S_ISDIR(path.stat().st_mode)
        if not is_pack:
            family = family_of(path)
            return Installable(_title(path), family.key, family.read(path))
        spec = load_pack(path)
        check_all_weights(spec)
        family = FAMILIES[spec.family]
        return Installable(
            spec.title,
            family.key,
            family.read(spec.weights),
            spec,
            family.read(spec.lite) if spec.lite else None,
            read_pixels(spec.thumbnail) if spec.thumbnail else None,
            read_pixels(spec.picture) if spec.picture else None,
        )
    except FileNotFoundError:
        raise StyleError(tr("'{file}' does not exist", file=name)) from None
    except (CheckpointError, ImageError) as exc:
        raise StyleError(str(exc)) from exc
    except OSError as exc:
        fault = exc.strerror or exc
        raise StyleError(tr("'{file}' cannot be read: {error}", file=name, error=fault)) from exc
    except ValueError:  # no file can have this name
        raise StyleError(tr("'{file}' does not exist", file=name)) from None


def installable_of_picture(
    path: Path, network: AnyStyleNetwork, progress: Callable[[str], object]
) -> Installable:
    """Make a style from a picture, which is stored with a long side of at most KEPT_SIZE pixels.

    The picture also decides how strokes lie. Of an animation, the first frame counts. `progress`
    gets the name of each slow step before it.

    Raises:
        StyleError: If the file is not a picture, or is too narrow.
    """
    from app.styles.painted_strokes import strokes_of
    from models.families.keys import ANY_STYLE
    from utils.images.opening import ImageError
    from utils.images.reading import read_pixels

    progress("Reading the picture")
    try:
        picture = _at_most(read_pixels(path), KEPT_SIZE)
    except ImageError as exc:
        raise StyleError(str(exc)) from exc
    progress("Finding its style")
    try:
        code = network.encode(picture)
    except ValueError as exc:
        shown = printable(path.name, MAX_NAME_LENGTH)
        raise StyleError(labeled(f"'{shown}'", str(exc))) from exc
    return Installable(
        _title(path),
        ANY_STYLE,
        code,
        thumbnail=_thumbnail(picture),
        picture=picture,
        strokes=strokes_of(picture),
    )


def _title(path: Path) -> str:
    return one_line(path.stem.replace("_", " ").title()) or "Style"


def _at_most(pixels: NDArray[np.uint8], long_side: int) -> NDArray[np.uint8]:
    import numpy as np
    from PIL import Image

    height, width = pixels.shape[:2]
    if max(height, width) <= long_side:
        return pixels
    scale = long_side / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))


def _thumbnail(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Crop the largest square in the middle and scale it to THUMBNAIL_SIZE pixels a side."""
    import numpy as np
    from PIL import Image, ImageOps

    size = THUMBNAIL_SIZE, THUMBNAIL_SIZE
    return np.asarray(ImageOps.fit(Image.fromarray(pixels), size, Image.Resampling.LANCZOS))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
