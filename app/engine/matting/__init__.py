"""Mattes: which parts of a picture are painted and which stay as they are.

A matte is 1 where a person is and 0 on the background, with soft edges between them. It comes from
the difference to an empty scene, which the program learns while nobody is in the picture, from a
segmentation network of the user, or from a brush.
"""
