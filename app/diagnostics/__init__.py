"""Records for finding the cause of a fault: the log file, and reports."""
