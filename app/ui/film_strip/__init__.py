"""The pictures of a folder as a strip below the picture, with styled thumbnails."""
