"""What the gallery of styles offers beyond choosing one."""
