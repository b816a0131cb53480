"""The user's own picture in every style, painted in the time that a stream leaves."""
