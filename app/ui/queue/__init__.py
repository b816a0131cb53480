"""The queue in the window: the page of rows, the process that runs them, and creating jobs."""
