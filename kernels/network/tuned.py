"""Layers whose traits were chosen for a card of this machine, and their merge with the library's.

`kernels/tuning` finds them. The user's folder stores a JSON file per card and an image per traits.
They are used only with the sources that they were compiled from, after they passed a self-test
(kernels/self_test/tuned.py). If they are not used, a message says why.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import platformdirs

from kernels.driver.images import Image, ImageList
from kernels.jit.errors import BuildError, Damaged
from kernels.jit.permissions import refuse_writable_by_others
from kernels.network.shapes import WITH_KERNELS
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular

SIZES = ((512, 512), (1280, 720), (1920, 1080))  # widths and heights to tune layers for
ROLES = ("first", "down1", "down2", "same", "up1", "up2", "last")
ENDS = ("first", "last")
MAX_BYTES = 1 << 22  # of the JSON file; a layer takes about 1 KB

NOT_TESTED = "they have not passed the self-test on this machine"
TESTING = "the self-test ended without a result"
HOW = "`styleforge tune` tunes them again"


@dataclass(frozen=True, slots=True)
class TunedLayer:
    """A layer that was faster than the library's.

    Attributes:
        network: Its name in WITH_KERNELS.
        small: Whether the network runs the layers that need less shared memory.
        width: Width of the pictures in pixels; with `height`, one of SIZES.
        role: One of ROLES.
        traits: C++ name, "ConvTraits<...>"; an image has their kernels.
        described: The description of a layer by network_abi.cu, without `kind`.
        shipped_ms: The time of the library's layer in ms, measured in turns with it.
    """

    network: str
    small: bool
    width: int
    height: int
    role: str
    traits: str
    described: Mapping[str, Any]
    ms: float
    shipped_ms: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of tuning on a card, with the layers that were faster.

    Attributes:
        card: Its name, as PyTorch reports it.
        digest: The digest of the sources, see `Library.digest`.
        taken: The date, such as "2026-11-23".
        cases: Every tuned network with `small`, even if no layer was faster.
        kernels: Each kernel's name in the image, by traits and C++ name.
        images: One per traits; the traits are its `source`.
    """

    card: str
    capability: tuple[int, int]
    driver: str
    digest: str
    taken: str
    cases: tuple[tuple[str, bool], ...]
    layers: tuple[TunedLayer, ...]
    kernels: Mapping[str, Mapping[str, str]]
    images: tuple[Image, ...]

    def __str__(self) -> str:
        """Describe it, as "tuned for this card on 2026-11-23: full at 512x512: down1, up2"."""
        found: dict[str, list[str]] = {}
        for layer in self.layers:
            key = f"{layer.network} at {layer.width}x{layer.height}"
            found.setdefault(key, []).append(layer.role)
        what = "; ".join(f"{key}: {', '.join(roles)}" for key, roles in found.items())
        return f"tuned for this card on {self.taken}: {what or 'no layer was faster'}"

    def unfit(self, card: str, capability: tuple[int, int], digest: str) -> str:
        """Return why a card cannot use this tuning, as a clause; "" if it can.

        `digest` is the digest of the library's sources.
        """
        if (self.card, self.capability) != (card, capability):
            return f"they were tuned on {self.card}, compute capability {_dotted(self.capability)}"
        if self.digest != digest:
            return f"the kernels' sources have changed since; {HOW}"
        if not all(image.runs_on(capability) for image in self.images):
            return f"their images were built for another architecture; {HOW}"
        return ""


def tuned_folder() -> Path:
    """Return the folder of this user's tuned layers, which may not exist yet."""
    return platformdirs.user_data_path("styleforge", appauthor=False) / "tuned"


def path_of(card: str) -> Path:
    return tuned_folder() / f"{_slug(card)}.json"


def store(found: Tuning, code: Mapping[str, bytes]) -> None:
    """Store a tuning with the images of `code`, in place of the card's previous one.

    Raises:
        OSError: If a file cannot be written; the previous tuning stays.
    """
    for image in found.images:
        atomic_write(tuned_folder() / image.file, lzma.compress(code[image.source]))
    atomic_write(path_of(found.card), (json.dumps(asdict(found), indent=1) + "\n").encode())
    kept = {image.file for image in found.images}
    for path in tuned_folder().glob(f"{_slug(found.card)}.*.xz"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def image_of(card: str, traits: str, architecture: str, code: bytes) -> Image:
    sha256 = hashlib.sha256(code).hexdigest()
    return Image(f"{_slug(card)}.{sha256[:16]}.xz", traits, architecture, sha256)


def read(card: str) -> Tuning | None:
    """Return the stored tuning of a card; None if nothing is stored.

    Raises:
        Damaged: If the file cannot be read. The message names the file.
        BuildError: If other users can write to the file.
    """
    path = path_of(card)
    try:
        told = small_json.load(path, MAX_BYTES)
        refuse_writable_by_others(path)
        return _parsed(told)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise Damaged(f"the tuned layers in {path} are damaged; {HOW}") from error


def forget(card: str) -> bool:
    """Remove a card's tuning; return whether there was one.

    Raises:
        OSError: If a file cannot be removed.
    """
    files = [path_of(card), _verdict_path(card), *tuned_folder().glob(f"{_slug(card)}.*.xz")]
    there = [path for path in files if path.exists()]
    for path in there:
        path.unlink()
    return bool(there)


def set_verdict(card: str, reason: str) -> None:
    """Store why a card's tuning must not be used, or "".

    Raises:
        OSError: If the file cannot be written.
    """
    note = {"key": _key(card), "reason": reason}
    atomic_write(_verdict_path(card), json.dumps(note).encode())


def verdict(card: str) -> str:
    """Return the self-test's reason not to use a card's tuning; "" if it may be used."""
    try:
        refuse_writable_by_others(_verdict_path(card))
        note = small_json.load(_verdict_path(card), MAX_BYTES)
        return str(note["reason"]) if note["key"] == _key(card) else NOT_TESTED
    except (BuildError, OSError, ValueError, LookupError, TypeError):
        return NOT_TESTED


def for_card(images: ImageList, card: str, capability: tuple[int, int]) -> tuple[ImageList, str]:
    """Return the images with a card's tuned layers if usable, and a remark on these layers.

    The remark says which they are, or why they are not used; it is empty if nothing is stored.
    """
    try:
        found = read(card)
        if found is None:
            return images, ""
        why = found.unfit(card, capability, images.digest) or verdict(card)
        if why:
            return images, f"layers tuned for this card on {found.taken} are not used: {why}"
        return merged(images, found), str(found)
    except BuildError as error:
        return images, f"layers tuned for this card are not used: {error}"


def merged(images: ImageList, found: Tuning) -> ImageList:
    """Return the network's images with tuned layers, see `abi.Sm80.layers`.

    Raises:
        Damaged: If a layer's description does not match the library's, or its kernels are missing.
    """
    sm80 = images.description["sm80"]
    sets = [
        (network, small, size, [one for one in found.layers if _is_of(one, network, small, size)])
        for network, small in found.cases
        for size in SIZES
    ]
    description = {**images.description, "sm80": {**sm80, "tuned": described(sm80, sets)}}
    for one in found.layers:
        if not set(kernel_names(one.described)) <= set(found.kernels[one.traits]):
            raise Damaged(f"the images lack the kernels of a tuned layer; {HOW}")
    # Absolute paths, so that they are not looked for in the folder of the other images.
    own = tuple(replace(image, file=str(tuned_folder() / image.file)) for image in found.images)
    return replace(
        images,
        description=description,
        kernels={**images.kernels, **found.kernels},
        images=(*images.images, *own),
    )


def described(
    sm80: Mapping[str, Any],
    sets: Sequence[tuple[str, bool, tuple[int, int], Sequence[TunedLayer]]],
    precisions: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the description of tuned networks, for `abi.TunedLayers`; Damaged on a mismatch.

    Args:
        sets: For each: the network, `small`, width and height, and the layers that differ.
        precisions: The precisions of these layers' kernels; defaults to all of the library's.
    """
    rows: list[dict[str, Any]] = []
    networks = sm80["networks"]
    kind = 1 + max(conv["kind"] for each in networks.values() for conv in each["convs"].values())
    for number, (network, small, (width, height), tuned) in enumerate(sets, len(networks)):
        convs: dict[str, Any] = dict(networks[network]["convs"])
        layers: dict[str, Any] = {**networks[network], "number": number, "convs": convs}
        for one in tuned:
            if one.role in ENDS:
                _check(one.described, layers[one.role], precisions)
                layers |= {one.role: one.described, f"{one.role}_small": one.described}
                continue
            row = {**one.described, "kind": kind}
            _check(row, convs[one.role], precisions)
            endings = ("", "_wide", "_small", "_wide_small")
            convs.update(
                {one.role + ending: row for ending in endings if one.role + ending in convs}
            )
            kind += 1
        pixels = width * height
        rows.append({"network": network, "small": small, "pixels": pixels, "layers": layers})
    return rows


def kernel_names(row: Mapping[str, Any]) -> list[str]:
    kernels = cast("Mapping[str, Mapping[str, str]]", row["kernels"])
    return [name for variants in kernels.values() for name in variants.values()]


def _is_of(one: TunedLayer, network: str, small: bool, size: tuple[int, int]) -> bool:
    return (one.network, one.small, (one.width, one.height)) == (network, small, size)


def _check(
    row: Mapping[str, Any], library: Mapping[str, Any], precisions: Sequence[str] = ()
) -> None:
    """Raise Damaged unless a layer has the library layer's keys, with values of the same type."""
    kernels = library["kernels"]
    needed = {**library, "kernels": {name: kernels[name] for name in precisions or kernels}}
    if _types(row) != _types(needed) or min(_numbers(row)) < 1:
        raise Damaged(f"the description of a tuned layer does not fit this library; {HOW}")


def _types(row: Any) -> Any:
    if isinstance(row, Mapping):
        return {key: _types(value) for key, value in cast("Mapping[str, Any]", row).items()}
    return type(row).__name__


def _numbers(row: Mapping[str, Any]) -> list[int]:
    return [value for key, value in row.items() if isinstance(value, int) and key != "kind"]


def _parsed(told: dict[str, Any]) -> Tuning:
    layers = tuple(TunedLayer(**row) for row in told["layers"])
    images = tuple(Image(**row) for row in told["images"])
    major, minor = map(int, told["capability"])
    cases = tuple((str(name), bool(small)) for name, small in told["cases"])
    given = {"capability": (major, minor), "cases": cases, "layers": layers, "images": images}
    found = Tuning(**dict[str, Any](told, **given))
    texts = [told[name] for name in ("card", "driver", "digest", "taken")]
    networks = {*(network for network, _ in cases), *(one.network for one in layers)}
    if not (
        all(isinstance(text, str) for text in texts)
        and networks <= set(WITH_KERNELS)
        and all(one.role in ROLES and one.traits in found.kernels for one in layers)
        and all(re.fullmatch(r"[a-z0-9-]+\.[0-9a-f]{16}\.xz", one.file) for one in images)
        and {one.source for one in images} == set(found.kernels)
    ):
        raise ValueError("invalid value")
    return found


def _verdict_path(card: str) -> Path:
    return tuned_folder() / f"{_slug(card)}.tested.json"


def _key(card: str) -> str:
    return hashlib.sha256(read_regular(path_of(card), MAX_BYTES)).hexdigest()


def _slug(card: str) -> str:
    """Return a card's name for use in file names: "nvidia-h200"."""
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
