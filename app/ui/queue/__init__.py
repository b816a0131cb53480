"""The queue in the window: a page of rows, the process that runs them, what becomes a job."""
