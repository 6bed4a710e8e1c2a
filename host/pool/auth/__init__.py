"""Authorisation of servers over HTTP: whose tokens, where they are kept, how they are renewed.

``ServerAuth`` goes with every request of a server; ``PoolLogins`` asks a person. The MCP SDK
finds authorization servers and leads through the code grant; tokens, their renewal and their
keeping are ours (sdk.md §2.10, §2.11).
"""
