"""Reads PyTorch files of tensors and plain containers, whatever is in them; nothing is run."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any, BinaryIO

import torch
from torch import Tensor

from utils.text import printable

CODE = 100  # characters of a function's name in a message

# What is wrong with a file is said once, by the error. For the whole process, since filters
# cannot be set for one of several threads.
for told in ("Detected pickle protocol", "TypedStorage is deprecated"):
    warnings.filterwarnings("ignore", message=told)


class UnsafeFileError(ValueError):
    """A file that holds something else, or is damaged; the message completes "'a.pth' ..."."""


def load_tensors(file: BinaryIO, device: torch.device | str = "cpu") -> Any:
    """What is stored in `file`, on `device`. Raises UnsafeFileError, and OSError where the file
    cannot be read."""
    try:
        return torch.load(file, map_location=device, weights_only=True)
    except OSError:
        raise
    except pickle.UnpicklingError as error:
        if found := re.search(r"Unsupported \w+: GLOBAL (\S+)", str(error)):
            code = printable(found[1].rstrip("."), CODE)
            raise UnsafeFileError(
                f"contains Python code ({code}), which is never run: "
                "only files of plain weights can be used"
            ) from error
        raise UnsafeFileError("is damaged or truncated") from error
    except Exception as error:  # PyTorch checks few of the values that it goes by
        raise UnsafeFileError("is damaged or truncated") from error


def is_weight(value: Any) -> bool:
    """Whether `value` is a dense floating-point tensor with memory behind it."""
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and value.is_floating_point()
        and not value.is_meta
        and not value.is_quantized
    )
