"""Calls the library of frames/native/texture.cpp on contiguous [H, W, 3] uint8 arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_int, c_longlong, c_void_p
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.frames.combing import BLURS, LONGEST, MARGIN, Comb
from kernels.frames.noise import BANDS, TRACKED
from kernels.frames.structs import CombParams, EnlargeTextureParams, TextureParams
from kernels.frames.texture import TextureHistory
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table.names import TEXTURE
from kernels.table.status import use_native
from utils.stroke_directions import MOST_HANDLES

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

_CPU = torch.device("cpu")
_SIZES = 15


class CpuTexture:
    """The functions of the library that adds texture on the CPU.

    Raises:
        BuildError: If the library's structs or sizes differ from Python's.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        sizes = (c_int * _SIZES)()
        _function(library, "texture_sizes", POINTER(c_int))(sizes)
        *structs, cell, state, close, wide, fine, coarse, tracked = sizes[:10]
        expected = [TextureParams, EnlargeTextureParams, CombParams]
        if structs != [ctypes.sizeof(each) for each in expected]:
            raise BuildError("the library of texture and kernels/frames/structs.py differ")
        if ((fine, coarse), tracked) != (tuple(side for _, side in BANDS), TRACKED):
            raise BuildError("the library of texture and kernels/frames/noise.py differ in sizes")
        if sizes[10:] != [*(reach for _, reach in BLURS), LONGEST, MARGIN, MOST_HANDLES]:
            raise BuildError("the library of texture and kernels/frames/combing.py differ in sizes")
        self._told = {"close": close, "wide": wide, "cell_bytes": cell, "state_bytes": state}
        adds = c_longlong, POINTER(TextureParams), POINTER(CombParams), c_void_p
        self._add = _function(library, "texture_add", *adds)
        enlarges = c_longlong, POINTER(EnlargeTextureParams)
        self._enlarge = _function(library, "texture_enlarge", *enlarges)

    def new_texture(self, height: int, width: int) -> TextureHistory:
        with torch.inference_mode(False):
            return TextureHistory(height, width, _CPU, self._told)

    def texture(
        self,
        history: TextureHistory,
        picture: Pixels,
        textured: Pixels,
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> None:
        """Texture a stream's next picture like `FrameKernels.texture`.

        Raises:
            MemoryError: If memory runs out.
        """
        addresses = picture.ctypes.data, textured.ctypes.data
        p, combs = history.params(*addresses, amount, continues=continues, comb=comb)
        gray = np.empty(history.size, np.uint8)
        if self._add(torch.get_num_threads(), p, combs, gray.ctypes.data):
            raise MemoryError("texture: not enough memory")

    def enlarge_texture(self, history: TextureHistory, picture: Pixels, textured: Pixels) -> None:
        """Do the same as `FrameKernels.enlarge_texture`.

        Raises:
            MemoryError: If memory runs out.
        """
        assert history.field is not None
        p = EnlargeTextureParams(
            *(picture.ctypes.data, textured.ctypes.data, history.field.data_ptr()),
            *(*picture.shape[:2], *history.field.shape),
        )
        if self._enlarge(torch.get_num_threads(), p):
            raise MemoryError("texture: not enough memory")


def cpu_texture() -> CpuTexture | None:
    """Return the library; None if it is not in use, with one warning that says why.

    Raises:
        BuildError: If the library's structs or sizes differ from Python's.
    """
    if build.reason(TEXTURE) and not use_native(TEXTURE):
        return None
    return _made(build.handle(TEXTURE))


@lru_cache(maxsize=1)
def _made(library: ctypes.CDLL) -> CpuTexture:
    return CpuTexture(library)


def _function(library: ctypes.CDLL, name: str, *types: Any) -> Callable[..., int]:
    prototype: Any = ctypes.CFUNCTYPE(c_int, *types)
    return prototype(ctypes.cast(getattr(library, name), c_void_p).value)
