"""Actions: what a write takes, gives, needs and leaves behind, and who may start it."""
