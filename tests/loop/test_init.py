"""The room's public names."""

from __future__ import annotations

import host.loop


def test_everything_promised_is_there_and_the_list_is_sorted() -> None:
    names = host.loop.__all__
    promised = """
        run_tool_loop stream_tool_loop Model Toolbox AgentLoopOptions RunControl run_agent_loop
        preview gather notify consult with_context turn_messages turn_index untrusted
        UNTRUSTED_PREFACE HOOK_PREFACE HOOK_CONTEXT_TOKENS RunHooks ToolLoopResult RawEvent
        ToolResultEvent Capped
    """
    assert set(promised.split()) <= set(names)
    assert not [name for name in names if not hasattr(host.loop, name)]
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    functions = [name for name in names if name[0].islower()]
    assert names == [*sorted(constants), *sorted(classes), *sorted(functions)]
