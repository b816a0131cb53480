"""Elementwise operations: their functions, tensor layouts and passes."""
