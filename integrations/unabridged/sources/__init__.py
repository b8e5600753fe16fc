"""Sources that have a client library of their own: one module each, imported only when it is used.

The library walks; whether the read was whole is judged here. Nothing is imported by this package itself.
"""
