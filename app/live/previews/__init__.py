"""Previews of the current picture in every style, painted between the frames of a stream."""
