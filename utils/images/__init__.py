"""Reading picture files into arrays and writing arrays into picture files."""
