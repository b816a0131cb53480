"""Controllers between the widgets and the session: opening, dropping, installing, exporting."""
