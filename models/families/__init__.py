"""Kinds of networks, and everything that differs between them, in one table."""
