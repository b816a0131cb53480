"""Feeds damaged and hostile input to everything that reads files or streams, and reports faults."""
