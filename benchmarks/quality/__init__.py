"""Measures styles on photographs and films that training has not seen."""
