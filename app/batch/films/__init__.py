"""The films of a run, made one after another or by a team."""
