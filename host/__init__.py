"""An MCP-client agent host: one process between a fleet of MCP servers and a model.

The rooms stand on their own and are imported one by one: ``host.pool`` (MCP servers),
``host.wire`` (an OpenAI-compatible endpoint), ``host.loop`` (the agent loop), ``host.catalogue``
(names of all tools, schemas of few); ``host.assembly`` puts them together. Importing this
package alone loads none of them.
"""

__version__ = "0.1.0"
