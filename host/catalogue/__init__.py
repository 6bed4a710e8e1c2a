"""The name-only catalogue: names of all tools, definitions of few. Pure."""

from host.catalogue.carry_over import MAX_CARRIED, carry_over
from host.catalogue.catalogue_text import catalogue_list, catalogue_prompt
from host.catalogue.frozen_json import freeze
from host.catalogue.keywords import KeywordChoice, preselect_by_keywords
from host.catalogue.load_tools import (
    LOAD_TOOLS,
    LOAD_TOOLS_DEFINITION,
    in_catalogue,
    load_result,
    loaded_tools,
    requested_names,
)
from host.catalogue.name_resolution import (
    MAX_PER_LOAD,
    NameResolution,
    OverBroad,
    advice,
    expand_names,
)
from host.catalogue.preselection import (
    PRESELECT_SCHEMA,
    preselect_input,
    preselect_system,
    preselection,
)
from host.catalogue.proxied import (
    CALL_TOOL,
    PROXY_TOOLS,
    ProxiedCall,
    defined_names,
    holds_definitions,
    proxied_call,
    proxy_catalogue_prompt,
    proxy_load_result,
    shown_call,
)

__all__ = [
    "CALL_TOOL",
    "LOAD_TOOLS",
    "LOAD_TOOLS_DEFINITION",
    "MAX_CARRIED",
    "MAX_PER_LOAD",
    "PRESELECT_SCHEMA",
    "PROXY_TOOLS",
    "KeywordChoice",
    "NameResolution",
    "OverBroad",
    "ProxiedCall",
    "advice",
    "carry_over",
    "catalogue_list",
    "catalogue_prompt",
    "defined_names",
    "expand_names",
    "freeze",
    "holds_definitions",
    "in_catalogue",
    "load_result",
    "loaded_tools",
    "preselect_by_keywords",
    "preselect_input",
    "preselect_system",
    "preselection",
    "proxied_call",
    "proxy_catalogue_prompt",
    "proxy_load_result",
    "requested_names",
    "shown_call",
]
