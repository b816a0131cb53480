"""The network on a processor beside other runtimes: times, errors, memory, layers, floor."""
