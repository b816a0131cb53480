"""The pictures of a data set that are never used for training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.training.errors import TrainingError
from utils.files import toml
from utils.text import printable
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The file names of pictures reserved for judging a network, per folder."""

    photographs: tuple[str, ...] = ()
    paintings: tuple[str, ...] = ()


def read_held_out(path: Path) -> HeldOut:
    """Read the TOML lists `photographs` and `paintings`.

    held_out.toml next to this module belongs to the networks that ship.

    Raises:
        TrainingError: If the file cannot be read or does not have two lists.
    """
    shown = printable(path.name)
    try:
        table = toml.load(path)
    except OSError as exc:
        raise TrainingError(
            tr("'{file}' cannot be read: {error}", file=shown, error=exc.strerror or exc)
        ) from exc
    except ValueError as exc:
        raise TrainingError(tr("'{file}' is not a TOML file with two lists", file=shown)) from exc
    lists = [table.pop(name, []) for name in ("photographs", "paintings")]
    if table or not all(isinstance(names, list) for names in lists):
        raise TrainingError(
            tr("'{file}' is not a TOML file with the lists photographs and paintings", file=shown)
        )
    if not all(isinstance(name, str) for names in lists for name in names):
        raise TrainingError(tr("'{file}' has an entry that is not the name of a file", file=shown))
    return HeldOut(*(tuple(names) for names in lists))
