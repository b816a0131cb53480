"""Constants of mattes by the difference to an empty scene, see kernels.frames.native_matting.

They are in frames/native/smoothing/matting.h as well.
"""

TILE = 4  # pixels: brightness that varies within is structure
PLAIN = 4.0  # deviations of structure and color up to which a shadow may explain some of the light
SHADE = 0.9  # share of a loss of light that a shadow explains, where the structure is the same
DARKEST = 0.55  # of the scene's light, in a shadow
COLOR = 1.5  # weight of a change of color, which no shadow explains
BRIGHT = 245.0  # of 255: a color beyond may be brighter than the camera can show
LEAST, MOST = 3.0, 7.0  # deviations: below is background, above is a person
ENOUGH = 8.0  # deviations: a pixel that differs more counts no more, so that edges do not grow
STEADY = 0.6  # share of the last frame's matte where nothing changes
CHANGE = 4.0  # mean change of a tile's pixels, of 255, from which on none of it stays
FIT_REACH = 2  # pixels on each side of a pixel in which a matte is fitted to the luma
MEAN_REACH = 1  # the same, in which the fits are averaged
SOFT = 9.0  # of 255 squared: variance of the luma below which a matte does not follow the picture
