"""Finds the tensors in a file of `torch.save`, reading only its head."""

from __future__ import annotations

import io
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from models.safe_load import is_dict
from models.training.download.errors import LayoutError
from models.training.download.pickled import Call, Name, Reference, described
from utils.translation.texts import tr

HEAD_BYTES = 1 << 14  # per read of the head
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of the layout before ZIP
COUNT_BYTES = 8  # before each storage in that layout
ITEM_BYTES = {
    "torch FloatStorage": 4,
    "torch HalfStorage": 2,
    "torch BFloat16Storage": 2,
    "torch DoubleStorage": 8,
    "torch LongStorage": 8,
    "torch IntStorage": 4,
    "torch ShortStorage": 2,
    "torch CharStorage": 1,
    "torch ByteStorage": 1,
    "torch BoolStorage": 1,
}
_REBUILD = {"torch._utils _rebuild_tensor", "torch._utils _rebuild_tensor_v2"}
_PARAMETER = {"torch.nn.parameter Parameter", "torch._utils _rebuild_parameter"}


@dataclass(frozen=True, slots=True)
class Storage:
    """The numbers of one or several tensors: a key, the class, and their count."""

    key: str
    kind: str
    count: int

    @property
    def bytes(self) -> int:
        return self.count * ITEM_BYTES[self.kind]


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A contiguous tensor: its storage, the index of its first number there, and its shape."""

    storage: Storage
    first: int
    shape: tuple[int, ...]


class SavedTensors(ABC):
    """The tensors of an open file, by name."""

    tensors: Mapping[str, SavedTensor]

    @abstractmethod
    def read(self, storage: Storage) -> bytes:
        """Read a storage, little-endian.

        Raises:
            LayoutError: If the file is damaged.
            OSError: If the file cannot be read.
        """


def open_saved(file: io.RawIOBase) -> SavedTensors:
    """Read the head of a seekable file in either layout of `torch.save`.

    Raises:
        LayoutError: If the file has another layout.
        OSError: If the file cannot be read.
    """
    buffered: io.BufferedReader = io.BufferedReader(file, HEAD_BYTES)
    if buffered.peek(2).startswith(b"PK"):
        return _Zip(buffered)
    return _Legacy(buffered, file)


class _Legacy(SavedTensors):
    """Pickles of magic number, protocol, system, weights and order; then counts and storages."""

    def __init__(self, head: io.BufferedReader, file: io.RawIOBase) -> None:
        self._head, self._file = head, file  # a deleted buffer closes its file
        system: Any = None
        if (described(head), described(head)) == (MAGIC, PROTOCOL):
            system = described(head)
        if not is_dict(system) or system.get("little_endian") is not True:
            raise LayoutError(tr("the file on the server is not in PyTorch's format"))
        self.tensors, storages = _tensors(described(head))
        keys: Any = described(head)
        if not _texts(keys) or set(keys) != set(storages):
            raise LayoutError(tr("the file on the server lists other storages than it uses"))
        self._starts: dict[str, int] = {}
        position = head.tell()
        for key in keys:
            self._starts[key] = position
            position += COUNT_BYTES + storages[key].bytes
        if position != file.seek(0, io.SEEK_END):
            raise LayoutError(
                tr("the file on the server is longer or shorter than the tensors it lists")
            )

    def read(self, storage: Storage) -> bytes:
        self._file.seek(self._starts[storage.key])
        data = self._file.read(COUNT_BYTES + storage.bytes) or b""
        if int.from_bytes(data[:COUNT_BYTES], "little") != storage.count:
            raise LayoutError(tr("the file on the server states a wrong size for a storage"))
        return data[COUNT_BYTES:]


class _Zip(SavedTensors):
    """A ZIP archive: the weights are pickled in `data.pkl`, each storage is a stored member."""

    def __init__(self, file: io.BufferedReader) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError) as exc:
            raise LayoutError(tr("the file on the server is a damaged ZIP archive")) from exc
        names = self._archive.namelist()
        self._folder = next((n[:-8] for n in names if n.endswith("/data.pkl")), None)
        if self._folder is None:
            raise LayoutError(tr("the file on the server is a ZIP archive without weights"))
        if f"{self._folder}byteorder" in names and self._member("byteorder") != b"little":
            raise LayoutError(tr("the file on the server is not little-endian"))
        self.tensors, _ = _tensors(described(io.BytesIO(self._member("data.pkl"))))

    def read(self, storage: Storage) -> bytes:
        data = self._member(f"data/{storage.key}")
        if len(data) != storage.bytes:
            raise LayoutError(tr("the file on the server states a wrong size for a storage"))
        return data

    def _member(self, name: str) -> bytes:
        try:
            member = self._archive.getinfo(f"{self._folder}{name}")
            if member.compress_type != zipfile.ZIP_STORED:
                raise LayoutError(tr("the file on the server is compressed"))
            return self._archive.read(member)  # checks the member's CRC
        except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as exc:
            raise LayoutError(tr("the file on the server is a damaged ZIP archive")) from exc


def _tensors(state: Any) -> tuple[dict[str, SavedTensor], dict[str, Storage]]:
    """Return the tensors in a described state dict, and all storages that it uses, by key."""
    if isinstance(state, Call) and state.function == Name("collections OrderedDict"):
        # Python 2 passes the items as pairs.
        pairs = [*(state.arguments[0] if state.arguments else ()), *state.items.items()]
    elif is_dict(state):
        pairs = list(state.items())
    else:
        raise LayoutError(tr("the file on the server holds no table of weights"))
    try:
        tensors = {name: _tensor(value) for name, value in pairs}
    except (TypeError, ValueError, LookupError, AttributeError) as exc:
        raise LayoutError(tr("the file on the server holds more than plain weights")) from exc
    if not _texts(list(tensors)):
        raise LayoutError(tr("the file on the server has weights without names"))
    storages: dict[str, Storage] = {}
    for tensor in tensors.values():
        if storages.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise LayoutError(tr("the file on the server states two sizes for one storage"))
    return tensors, storages


def _texts(values: Any) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(v, str) for v in cast("list[Any]", values))


def _tensor(value: Any) -> SavedTensor:
    """Return the tensor that a described call would create.

    Raises:
        ValueError: If the call creates no tensor.
    """
    if value.function.text in _PARAMETER:
        value = value.arguments[0]
    if value.function.text not in _REBUILD:
        raise ValueError("not a tensor")
    reference, first, shape, stride, *_ = value.arguments
    if not isinstance(reference, Reference):
        raise ValueError("not a storage")
    word, kind, key, _place, count, *view = reference.value
    storage = Storage(key, kind.text, count)
    numbers = (first, count, *shape, *stride)
    if word != "storage" or not isinstance(key, str) or kind.text not in ITEM_BYTES or any(view):
        raise ValueError("a storage of another kind")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("not sizes")
    elements = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if step != elements and size != 1:
            raise ValueError("not contiguous")
        elements *= size
    if first + elements > count:
        raise ValueError("larger than its storage")
    return SavedTensor(storage, first, tuple(shape))
