"""Compiles the native libraries into images that ship with the program."""
