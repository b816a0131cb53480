"""The library of styles: the packs that come with the program and the user's own."""
