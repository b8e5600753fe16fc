"""Unabridged for LlamaIndex."""
