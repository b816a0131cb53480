"""The export of the open film: its options, the dialog that asks for them, and the work."""
