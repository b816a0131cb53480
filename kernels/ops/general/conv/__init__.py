"""Convolutions followed by a norm or an activation, composed of other operations."""
