"""Pictures of the real window for the README and the docs, made by the program itself."""
