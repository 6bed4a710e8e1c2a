"""The bundled fleet and the recorded endpoint: what a demonstration needs beside the host.

``host.demo.servers`` holds three MCP servers, each a program of its own on the mcp SDK.
``host.demo.replay`` answers a recorded question as a model endpoint does; ``host.demo.record``
makes such recordings. The modules beside them are pure and hold what the servers know.
"""
