"""Files of 16-bit numbers as packed in a wheel: their low bytes, then their high ones.

The high bytes of FP16 weights (sign and exponent) are much alike, and compress better side by side.
wheels/packing.py writes such files.
"""

from __future__ import annotations

MAGIC = b"SFPLANES"  # no file of weights begins with it


def unpack(packed: bytes) -> bytes:
    """Return the bytes before packing; return other files unchanged."""
    if not packed.startswith(MAGIC):
        return packed
    data = bytearray(len(packed) - len(MAGIC))
    half = len(MAGIC) + (len(data) + 1) // 2
    data[::2], data[1::2] = packed[len(MAGIC) : half], packed[half:]
    return bytes(data)
