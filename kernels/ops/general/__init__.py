"""The operations for any model, a folder per group; they form a family of their own.

The style networks do not load these libraries, and the program does not list the operations. An
argument of an invalid shape, dtype, device or value raises ValueError.
"""
