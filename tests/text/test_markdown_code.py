"""Code regions of a Markdown text, against documents built from parts that are known."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.markdown_code import CodeRegion, MarkdownCode

_RUN = re.compile(r"`+|~+")


def regions_of(text: str) -> list[CodeRegion]:
    """The regions met by reading from left to right and skipping each one."""
    code = MarkdownCode(text)
    regions: list[CodeRegion] = []
    at = 0
    while run := _RUN.search(text, at):
        region = code.region_at(run.start())
        if region:
            regions.append(region)
        at = region.end if region else run.end()
    return regions


_WORDS = st.lists(st.sampled_from(["one", "don't", "x", "~", ">", "a\nb"]), min_size=1).map(
    " ".join
)
_INSIDE = st.lists(st.sampled_from(["<tool_call>", '{"a": 1}', "word", "# x"]), max_size=3).map(
    " ".join
)


@st.composite
def _documents(draw: st.DrawFn) -> tuple[str, list[tuple[str, bool, str]]]:
    """A document and what its code regions must be: text, whether a fence, body."""
    text = ""
    expected: list[tuple[str, bool, str]] = []
    for _ in range(draw(st.integers(0, 5))):
        text += draw(_WORDS)
        if draw(st.booleans()):
            mark = draw(st.sampled_from(["```", "````", "~~~"]))
            tag = draw(st.sampled_from(["", "json", "tool_call", "c++"]))
            body = f"\n{draw(_INSIDE)}\n"
            code, is_fence = f"{mark}{tag}{body}{mark}", True
            text += "\n\n"
        else:
            mark = draw(st.sampled_from(["`", "``"]))
            body = draw(_INSIDE) or "x"
            code, is_fence = f"{mark}{body}{mark}", False
            text += " "
        expected.append((code, is_fence, body))
        text += f"{code}\n\n" if is_fence else f"{code} "
    return text, expected


@given(_documents())
def test_a_document_has_the_code_it_was_built_from(
    built: tuple[str, list[tuple[str, bool, str]]],
) -> None:
    text, expected = built
    assert [
        (text[r.start : r.end], r.is_fence, text[r.body_start : r.body_end])
        for r in regions_of(text)
    ] == expected


@given(st.text(alphabet="`~ \na>j", max_size=40))
def test_regions_are_ordered_disjoint_and_delimited_by_one_kind_of_mark(text: str) -> None:
    end = 0
    for region in regions_of(text):
        assert end <= region.start < region.end <= len(text)
        assert region.start < region.body_start <= region.body_end <= region.end
        mark = text[region.start]
        assert mark in "`~"
        if region.is_closed:
            assert set(text[region.body_end : region.end]) == {mark}
        else:
            assert region.is_fence
            assert region.body_end == region.end == len(text)
        end = region.end


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("no code", []),
        ("a `b` c", ["`b`"]),
        ("a `b c", []),
        ("a `b\nc` d", ["`b\nc`"]),
        ("a `b\n\nc` d", []),
        ("a `b\n  \nc` d", []),
        ("a ``b`c`` d", ["``b`c``"]),
        ("```\nx\n```", ["```\nx\n```"]),
        ("```json\nx\n```\n```\ny\n```", ["```json\nx\n```", "```\ny\n```"]),
        ("````\n```\nx\n```\n````", ["````\n```\nx\n```\n````"]),
        ("```\nx\n````", ["```\nx\n````"]),
        ("```\nx```", ["```\nx```"]),
        ("```js\na ``` b\n```", ["```js\na ``` b\n```"]),
        ("```js\nx\n```\r\nb", ["```js\nx\n```"]),
        ("see ```x``` and ```y```", ["```x```", "```y```"]),
        ("call: ```json\nx\n```", ["```json\nx\n```"]),
        ("  ~~~\nx\n~~~", ["~~~\nx\n~~~"]),
        ("a ~~~ b ~~~", []),
        ("```\nx\n~~~\ny", ["```\nx\n~~~\ny"]),
        ("```\ncut off", ["```\ncut off"]),
        ("> ```\n> x\n> ```\nb", ["```\n> x\n> ```"]),
        ("1. ~~~\n   x\n   ~~~\nb", ["~~~\n   x\n   ~~~"]),
        ("- 2) ~~~\n  x\n  ~~~", ["~~~\n  x\n  ~~~"]),
        ("> * ~~~\nx", ["~~~\nx"]),
        ("-~~~\nx", []),
        ("```\nx\n- ```\ny\n```", ["```\nx\n- ```\ny\n```"]),
        ("```md\n```py\nx\n```\ny\n```\nz", ["```md\n```py\nx\n```\ny\n```"]),
        ("```Markdown\n```py\nx\n```\nz", ["```Markdown\n```py\nx\n```"]),
        ("```md\nx\n```\n```py\ny\n```", ["```md\nx\n```", "```py\ny\n```"]),
        ("```py\n```js\nx\n```\ny\n```", ["```py\n```js\nx\n```", "```"]),
    ],
)
def test_code_is_found_as_models_write_it(text: str, regions: list[str]) -> None:
    assert [text[region.start : region.end] for region in regions_of(text)] == regions


@pytest.mark.parametrize(
    ("text", "tag", "body"),
    [
        ("```JSON\n{}\n```", "json", "\n{}\n"),
        ("``` tool_call\n{}\n```", "tool_call", "\n{}\n"),
        ("```json {}```", "json", " {}"),
        ("```{}```", "", "{}"),
        ("```c++ title=x\ny", "c++", " title=x\ny"),
        ("``````", "", ""),
    ],
)
def test_a_fence_has_a_tag_and_a_body(text: str, tag: str, body: str) -> None:
    [region] = regions_of(text)
    assert (region.tag, text[region.body_start : region.body_end]) == (tag, body)


def test_a_place_that_begins_no_run_begins_no_region() -> None:
    code = MarkdownCode("a ```x``` b")
    assert code.region_at(0) is None
    assert code.region_at(3) is None


@given(st.lists(st.sampled_from(["```", "````", "~~~", "```json", "x ```", "`", "x"]), max_size=12))
def test_a_fence_ends_where_a_search_run_by_run_ends_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    runs = list(re.finditer(r"(?m)(?P<lead>^)?(?P<run>`+|~{3,})(?P<alone>$)?", text))
    code = MarkdownCode(text)
    for at, run in enumerate(runs):
        mark = run["run"]
        if len(mark) < 3:
            continue
        later = [each for each in runs[at + 1 :] if each["run"].startswith(mark)]
        alone = [each for each in later if each["lead"] is not None and each["alone"] is not None]
        region = code.region_at(run.start("run"))
        assert region is not None
        assert region.end == next((each.end() for each in [*alone, *later]), len(text))


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("`" * 20_000, 1),
        ("` `` " * 1_500, 1_000),
        ("```a\n" * 2_000, 1_000),
        (" ".join("`" * length for length in range(1, 100)) + "\n\n`a" * 2_001, 49),
        ("\n~~~~x" * 2_000 + " " * 20_000, 1_000),
        ("```md\n```x\n" * 2_000, 2_000),
        ("\n- " * 2_000 + "~~~", 1),
        ("\n" + "- " * 20_000 + "~~~", 1),
    ],
    ids=[
        "one run",
        "two lengths",
        "openers",
        "longer and longer",
        "tildes",
        "fences in fences",
        "items",
        "nested items",
    ],
)
def test_hostile_runs_are_read_in_linear_time(text: str, regions: int) -> None:
    assert len(regions_of(text)) == regions


def test_asking_everywhere_for_fences_that_never_close_is_linear() -> None:
    lengths = range(200, 3, -1)
    text = "\n".join("`" * length + "a" for length in lengths) + "\n```a" * 2_000
    code = MarkdownCode(text)
    starts = [run.start() for run in _RUN.finditer(text)][: len(lengths)]
    for start in starts:
        region = code.region_at(start)
        assert region is not None
        assert not region.is_closed
