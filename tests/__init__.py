"""Tests and tools for them; each is a sentence about what the program does."""

from utils.threads import wait_briefly

wait_briefly()  # as the program does, before anything imports PyTorch
