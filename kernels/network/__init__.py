"""The whole network on a GPU: its plan, and one layout for each architecture."""
