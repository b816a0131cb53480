"""Operations that turn data into model inputs (tokens, images, series), and products."""

from __future__ import annotations

from kernels.ops.library.inputs import linear as linear
from kernels.ops.library.inputs import series as series
from kernels.ops.library.inputs import text as text
from kernels.ops.library.inputs import vision as vision
