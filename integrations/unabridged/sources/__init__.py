"""Sources that have a client library or a format of their own: one module each, imported only when it is used.

The library walks; whether the read was whole is judged here. Nothing is imported by this package itself:
`from unabridged.sources.sql import read_sql`.

Where a library has a client for event loops, there is a reader for it: `aread_sql` (also `AsyncEngine`), `aread_redis`
(`redis.asyncio`) and `aread_etcd` (`httpx.AsyncClient`). ldap3, boto3 and the official Kubernetes client know threads
only: `await asyncio.to_thread(read_ldap, ...)` reads beside an event loop, and records in the session of its caller.
"""
