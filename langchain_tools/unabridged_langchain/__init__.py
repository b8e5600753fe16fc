"""Unabridged for LangChain and LangGraph."""
