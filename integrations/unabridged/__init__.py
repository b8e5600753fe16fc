"""Read a source and know whether that was all of it."""
