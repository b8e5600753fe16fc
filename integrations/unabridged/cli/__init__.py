"""The command line: one module a command. Nothing here is imported by the toolkit itself."""
