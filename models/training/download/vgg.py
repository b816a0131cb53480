"""The cache of torchvision's VGG-19, and the download if it is empty."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from models.training.download.published import (
    ADDRESS,
    HOST,
    PART_MB,
    TORCHVISION_PREFIX,
    WHOLE_MB,
    layer_hashes,
)
from models.training.download.vgg_part import check_part, fetch_part, part_of
from models.training.download.whole_file import fetch
from models.training.vgg_layers import layer_shapes
from utils.translation.texts import mark, tr

DOWNLOADS = ("layers", "whole")


def cached_vgg(
    download: str = "layers",
    progress: Callable[[int, int], None] = lambda done, total: None,
    note: Callable[[str], None] = lambda text: None,
) -> Path:
    """Return the path of torchvision's VGG-19, or of the layers in use; download a missing file.

    Args:
        download: "layers" (9 MB; a whole file in the cache also serves) or "whole" (575 MB).
        progress: Called with the bytes received and in total, 0 if the total is unknown.
        note: Called after a download with a sentence on the checks that were possible.

    Raises:
        WholeFileNeededError: If the layers cannot be downloaded alone.
        TrainingError: If a file cannot be downloaded, or is damaged.
    """
    whole = _whole_path()
    if download == "whole" or whole.is_file():
        return fetch(ADDRESS, whole.parent, TORCHVISION_PREFIX, progress)
    part = part_of(whole)
    if not part.is_file():
        proven = fetch_part(ADDRESS, part, layer_hashes(), progress)
        note(tr(PROVEN) if proven else tr(UNPROVEN, part=PART_MB, whole=WHOLE_MB, host=HOST))
    check_part(part)
    return part


PROVEN = mark("The VGG-19 layers match StyleForge's checksums")
UNPROVEN = mark(
    "The layers of VGG-19 ({part} MB) came from {host}, whose identity was checked (TLS), and "
    "have the right shapes. No checksum is published for a part of the file; there is one for the "
    "whole file ({whole} MB), which --vgg-download whole downloads and compares"
)


def present_vgg() -> Path | None:
    """Return the file in the cache that `cached_vgg` uses without a download, or None."""
    whole = _whole_path()
    return next((path for path in (whole, part_of(whole)) if path.is_file()), None)


def layers_proven() -> bool:
    """Return whether the checksum of every layer to download is known."""
    return set(layer_shapes()) <= set(layer_hashes())


def _whole_path() -> Path:
    name = ADDRESS.rpartition("/")[2]
    folder = os.environ.get("STYLEFORGE_CACHE")
    if folder:
        return Path(folder) / name
    import platformdirs  # imported here, since training with a given file does not need it

    return platformdirs.user_cache_path("styleforge", appauthor=False) / name
