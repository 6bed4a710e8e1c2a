from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.search import rank_tools


@dataclass(frozen=True)
class Tool:
    name: str = ""
    title: str | None = None
    description: str | None = None
    server: str = ""


@dataclass(frozen=True)
class NamedOnly:
    name: str


def score(query: str, tool: object) -> float:
    return sum(score for _, score in rank_tools(query, [tool]))


@pytest.mark.parametrize(
    ("query", "tool", "expected"),
    [
        ("file", Tool(name="read_file"), 3),
        ("file", Tool(title="Read a file"), 2),
        ("file", Tool(description="Reads one file."), 1),
        ("file", Tool(server="file server"), 1),
        ("file", Tool(name="file", title="file", description="file", server="file"), 3),
        ("read file", Tool(name="read_file"), 6),
        ("read file", Tool(name="read", description="file"), 4),
        ("file file FILES", Tool(name="file"), 3),
        ("filesystem", Tool(name="file"), 1.5),
        ("fil", Tool(name="file"), 1.5),
        ("fi", Tool(name="file"), 0),
        ("filed", Tool(name="fi"), 0),
        ("db", Tool(name="db_query"), 3),
        ("listing", Tool(name="listUsers"), 3),
        ("created", Tool(name="create"), 1.5),
        ("issues", Tool(name="getIssue"), 3),
        ("is", Tool(name="is"), 3),
        ("sing", Tool(name="sing"), 3),
        ("user", Tool(name="API-get-user"), 3),
        ("url", Tool(name="getURL"), 3),
        ("http", Tool(name="HTTPServer"), 3),
        ("server", Tool(name="HTTPServer"), 3),
        ("2", Tool(name="v_2"), 3),
        ("read", Tool(name="2READ"), 3),
        ("straße", Tool(description="Straße"), 1),
        ("grüßen", Tool(name="GrüßEn"), 1.5),
        ("天气", Tool(description="查询天气"), 2),
        ("名前", Tool(name="名前を見る"), 6),
        ("weather", Tool(description="天气weather"), 1),
        ("", Tool(name="x"), 0),
        ("_ - !", Tool(name="x"), 0),
        ("file", NamedOnly("file"), 3),
    ],
)
def test_each_word_counts_its_best_match(query: str, tool: object, expected: float) -> None:
    assert score(query, tool) == expected


def test_equal_scores_keep_their_order_and_misses_are_left_out() -> None:
    tools = [
        Tool(description="b file"),
        Tool(name="x"),
        Tool(name="file"),
        Tool(description="file"),
    ]

    assert rank_tools("file", tools) == [(tools[2], 3), (tools[0], 1), (tools[3], 1)]


@pytest.mark.parametrize(("limit", "count"), [(-1, 0), (0, 0), (1, 1), (10, 3)])
def test_the_limit_counts_hits(limit: int, count: int) -> None:
    assert len(rank_tools("a", [Tool(name="a")] * 3, limit=limit)) == count


WORDS = st.lists(
    st.sampled_from(
        ["file", "files", "filing", "File", "fi", "filesystem", "Filed", "READ", "天", "2", "a_b"]
    ),
    max_size=4,
)
TEXTS = WORDS.map(" ".join) | WORDS.map("".join)
TOOLS = st.builds(Tool, name=TEXTS, title=st.none() | TEXTS, description=st.none() | TEXTS)


@given(query=TEXTS, tools=st.lists(TOOLS, max_size=5), limit=st.integers(-1, 6))
def test_hits_are_sorted_positive_and_independent_of_each_other(
    query: str, tools: list[Tool], limit: int
) -> None:
    ranked = rank_tools(query, tools, limit=limit)

    alone = [(tool, score(query, tool)) for tool in tools]
    hits = sorted((hit for hit in alone if hit[1] > 0), key=lambda hit: -hit[1])
    assert ranked == hits[: max(0, limit)]


def reference_stems(text: str) -> set[str]:
    spaced = re.sub(r"([一-龯])", r" \1 ", text)
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", spaced)
    stems = set()
    for word in re.findall(r"[^\W_]+", spaced):
        word = word.lower()
        suffix = next(
            (end for end in ("ing", "ed", "s") if word[: -len(end)][2:] and word.endswith(end)), ""
        )
        stems.add(word.removesuffix(suffix))
    return stems


def reference_score(query: str, tool: Tool) -> float:
    fields = [(3, tool.name), (2, tool.title), (1, tool.description), (1, tool.server)]
    total = 0.0
    for stem in reference_stems(query):
        best = 0.0
        for weight, text in fields:
            for other in reference_stems(text or ""):
                is_prefix = stem.startswith(other) or other.startswith(stem)
                if stem == other:
                    best = max(best, weight)
                elif is_prefix and min(len(stem), len(other)) >= 3:
                    best = max(best, weight / 2)
        total += best
    return total


@given(query=TEXTS, tool=TOOLS)
def test_a_score_is_the_sum_of_the_best_matches_of_each_stem(query: str, tool: Tool) -> None:
    assert score(query, tool) == reference_score(query, tool)


@given(TOOLS)
def test_a_tool_is_found_by_its_own_name_at_full_score(tool: Tool) -> None:
    words = rank_tools(tool.name, [tool])

    assert all(score % 3 == 0 and score > 0 for _, score in words)
    assert bool(words) is any(char.isalnum() for char in tool.name)
