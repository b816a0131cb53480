"""The queue of runs, a folder of files that outlives the processes that use it."""
