"""Threads of a film, and how they pass frames on."""
