"""Executors: the network on the CPU, layer by layer or as a native CUDA plan, and their frame
pipelines.
"""
