"""The networks in other programs' runtimes: as a program, as ONNX, run by those that are there."""
