"""Noise for the flat parts of a frame, so that networks paint them too.

A network trained to be steady follows the frame: skies and walls have nothing to follow, so they
stay smooth. Noise of two bands in the flat parts brings the strokes back, with the same weights.
White noise does not: the networks are trained to ignore camera noise.
"""

from __future__ import annotations

from app.engine.texture.native import Texture as Texture
from app.engine.texture.reference import flatness as flatness
from app.engine.texture.shaders import ShaderTexture as ShaderTexture
