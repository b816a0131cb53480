"""Compiles native libraries on this machine and loads them."""
