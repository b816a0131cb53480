"""The transformer network on a CPU: convolutions by Winograd's transforms."""
