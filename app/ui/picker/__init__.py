"""The program's own dialog for opening files, with thumbnails."""

from app.ui.picker.dialog import PickerDialog as PickerDialog
