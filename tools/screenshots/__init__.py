"""Pictures for the README and the docs, made by the program itself."""
