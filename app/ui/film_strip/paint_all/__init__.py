"""Paints all open pictures: a dialog for styles, size and place, and the jobs that follow."""
