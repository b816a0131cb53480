"""The picture on screen and the text painted over it."""
