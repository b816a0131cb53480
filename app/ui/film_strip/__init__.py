"""A strip of the pictures of a folder below the picture, with styled thumbnails."""
