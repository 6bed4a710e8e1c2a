"""Small catalogues for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from host.records import CatalogueServer, CatalogueTool


def server(label: str, *tools: str | tuple[str, str]) -> CatalogueServer:
    """A server with this label whose tools are names, or names with descriptions."""
    pairs = [(tool, "") if isinstance(tool, str) else tool for tool in tools]
    return CatalogueServer(
        id=label,
        label=label,
        tools=tuple(CatalogueTool(name=name, description=text) for name, text in pairs),
    )


MAIL = server("Mail", "mail__send", "mail__find", "mail__tags")
DISK = server("Disk", "disk__read", "disk__write")
OTHER = server("Other", "x__read")
EMPTY = server("Nothing here")

BARE = ["read", "list_tables", "_x", "x", "re", "a__b"]
NAMES = st.builds("{}__{}".format, st.sampled_from(["a", "a_", "mail", "m"]), st.sampled_from(BARE))
CATALOGUES = st.lists(st.lists(NAMES, max_size=6, unique=True), max_size=4).map(
    lambda groups: [server(f"S{number}", *names) for number, names in enumerate(groups)]
)
ASKED = st.lists(
    st.one_of(
        NAMES,
        st.sampled_from([*BARE, "none", "", " ", "*", "**", "__"]),
        NAMES.map(lambda name: f" {name} "),
        st.builds("{}*".format, st.sampled_from(["a", "a__", "mail__r", "re", "_", "zz"])),
    ),
    max_size=8,
)
"""Names as models ask for them: whole, bare, groups, padded, blank, unknown."""
