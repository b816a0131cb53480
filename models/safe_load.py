"""A reader of PyTorch files of tensors and plain containers that executes nothing in them."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any, BinaryIO, TypeGuard

import torch
from torch import Tensor

from utils.text import printable
from utils.translation.texts import tr

CODE = 100  # characters of a function name in a message

# PyTorch warns of the first two in addition to the error raised below, and of the last while it
# reads sparse tensors, which readers of weights refuse. The filters apply to the whole process,
# since they cannot be set for one of several threads.
for _message in (
    "Detected pickle protocol",
    "TypedStorage is deprecated",
    "Validating sparse tensor invariants",  # since PyTorch 2.15
):
    warnings.filterwarnings("ignore", message=_message)


class UnsafeFileError(ValueError):
    """Raised if a file is damaged or holds more than tensors; the message completes "'a.pth' ...".

    `code` is a function that loading the file would run; "" if the file is damaged.
    """

    def __init__(self, code: str = "") -> None:
        super().__init__(
            f"contains Python code ({code}), which is never run: "
            "only files of plain weights can be used"
            if code
            else "is damaged or truncated"
        )
        self.code = code

    def sentence(self, name: str) -> str:
        if not self.code:
            return tr("'{file}' is damaged or truncated", file=name)
        return tr(
            "'{file}' contains Python code ({code}), which is never run: "
            "only files of plain weights can be used",
            file=name,
            code=self.code,
        )


def load_tensors(file: BinaryIO, device: torch.device | str = "cpu") -> Any:
    """Read tensors, numbers, text and containers through PyTorch's restricted unpickler.

    Raises:
        UnsafeFileError: If the file, open at its beginning, is damaged or holds other objects.
        OSError: If the file cannot be read.
    """
    try:
        return torch.load(file, map_location=device, weights_only=True)
    except OSError:
        raise
    except pickle.UnpicklingError as error:
        if found := re.search(r"Unsupported \w+: GLOBAL (\S+)", str(error)):
            code = printable(found[1].rstrip("."), CODE)
            raise UnsafeFileError(code) from error
        raise UnsafeFileError() from error
    # PyTorch checks few of the values it reads, so any exception may be raised
    except Exception as error:
        raise UnsafeFileError() from error


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def is_weight(value: object) -> TypeGuard[Tensor]:
    """Return whether `value` is a dense floating-point tensor, neither meta nor quantized."""
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and value.is_floating_point()
        and not value.is_meta
        and not value.is_quantized
    )
