"""The room's public names."""

from __future__ import annotations

import host.catalogue


def test_everything_promised_is_there_and_the_list_is_sorted() -> None:
    names = host.catalogue.__all__
    promised = """
        LOAD_TOOLS MAX_PER_LOAD MAX_CARRIED LOAD_TOOLS_DEFINITION catalogue_list catalogue_prompt
        expand_names load_result requested_names in_catalogue carry_over preselect_system
        PRESELECT_SCHEMA preselect_input preselection preselect_by_keywords CALL_TOOL PROXY_TOOLS
        proxied_call proxy_load_result NameResolution KeywordChoice
    """
    assert set(promised.split()) <= set(names)
    assert not [name for name in names if not hasattr(host.catalogue, name)]
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    functions = [name for name in names if name[0].islower()]
    assert names == [*sorted(constants), *sorted(classes), *sorted(functions)]
