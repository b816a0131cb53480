"""Trains transformer networks. Independent of the window and of the command line."""
