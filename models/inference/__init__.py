"""How a network is executed: buffers, single operations, frames on a GPU."""
