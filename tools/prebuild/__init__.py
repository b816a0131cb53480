"""Compiles the native libraries into images that come with the program."""
