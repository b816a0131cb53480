"""What is kept to find out why something went wrong: the log file, and reports."""
