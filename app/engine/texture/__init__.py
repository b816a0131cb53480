"""Noise for the flat parts of a frame, so that networks paint them too.

A network that is trained to be steady follows the frame: skies and walls, which give it nothing to
follow, stay smooth. Noise of two bands, where the frame is flat, brings the strokes back, with the
same weights. White noise does not: the networks are trained to ignore that of a camera.
"""

from __future__ import annotations

from app.engine.texture.native import Texture as Texture
from app.engine.texture.reference import flatness as flatness
