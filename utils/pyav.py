"""Imports PyAV, FFmpeg's libraries for Python; the only module that imports `av`.

It silences encoders that write to the terminal themselves; PyAV prints no log unless asked to.
"""

from __future__ import annotations

import os

os.environ.setdefault("SVT_LOG", "1")  # libsvtav1 reads it: errors only

import av
import av.codec.codec
import av.container
import av.error
import av.format
import av.index
import av.logging
import av.sidedata.sidedata
import av.stream
import av.video.codeccontext
import av.video.reformatter

__all__ = ["av"]
