"""The framework-neutral half of the demo: one errand, done twice, on a real database behind a real HTTP API."""
