"""Times single operations against PyTorch; imports no program, as the wheel `kernel-fusion`."""
