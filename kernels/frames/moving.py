"""Constants of moving a painting with the scene, see kernels.frames.native_moving.

They are in frames/native/smoothing/moving.h as well.
"""

FADE = 3  # frames over which a new painting appears
# Mean change around a cell, in levels (0-255), up to which its motion is certain, and from which
# on it is unknown. Between them, the motion shrinks.
CERTAIN, UNKNOWN = 4.0, 16.0
# Levels of mean change around a cell that a motion saves, up to which it does not count, and from
# which on all of it does.
LEAST_GAIN, FULL_GAIN = 0.05, 0.3
# Change of the motion from cell to cell, up to which shapes stay whole, and from which on they
# would melt. Between them, the motion shrinks.
WHOLE, TORN = 0.3, 0.8
# Mean certainty of the motion, below which the frame shows another scene: nothing is moved then.
# At cuts between films it is 0.06 to 0.2, within them mostly above 0.8.
SAME_SCENE = 0.4
