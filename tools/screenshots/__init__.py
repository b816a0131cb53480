"""Pictures of the real window for the README and the docs, taken by the program itself."""
