"""StyleForge as it is installed: `styleforge.app`, `.models`, `.kernels`, `.utils`, `.assets`."""
