"""The networks in other runtimes: as a program, as ONNX, and run by the installed runtimes."""
