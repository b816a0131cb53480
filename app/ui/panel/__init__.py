"""The panel of all settings that change the picture, one file for each group of controls."""
