"""The export of the open film: its options, their dialog, and the export itself."""
