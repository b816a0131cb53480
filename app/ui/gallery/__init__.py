"""The style gallery: arranging, searching, trying and describing styles."""
