"""The values that a complaint about one of them lists as allowed, in any dress.

Read are ``must be one of `low` or `high` `` (Groq), ``Input should be 'low', 'medium' or 'high'``
(pydantic: vLLM, SGLang, FastAPI), ``'x' is not one of ['low', 'high']`` (jsonschema), ``expected
one of `'low' | 'high'` `` (zod, serde), ``Supported values are: 'low', and 'high'`` (OpenAI).
"""

from __future__ import annotations

import re

_LEAD = (
    r"(?:one of|not in|(?:should|must) be|expected|permitted"
    r"|(?:supported|allowed|accepted|available|valid) (?:values|options|choices|levels|types))"
)
_FILLER = r"(?:[ \t]*+(?:either|one of|the following|values|options|are|is)\b)*+"
_OPENING = r"[ \t:=(\[{<'\"`\\]*+"
_VALUE = r"[\w-]++\\?['\"`]?+(?:[ \t]*+\([^()\n]*+\))?+"
_BETWEEN = r"(?:[ \t]*+[,|/](?:[ \t]*+(?:and|or)\b)?+|[ \t]++(?:and|or)\b)[ \t]*+\\?['\"`]?+"
_LIST = re.compile(rf"\b{_LEAD}{_FILLER}{_OPENING}({_VALUE}(?:{_BETWEEN}{_VALUE})*+)", re.I | re.A)
_ASIDE = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[\w-]+", re.A)


def listed_values(text: str) -> list[tuple[str, ...]]:
    """Every list of allowed values in a text, lowercase, in the text's order.

    What merely looks like one (``must be set``) comes too: whoever asks knows the values it is
    about.
    """
    lists = (_ASIDE.sub("", found).lower() for found in _LIST.findall(text))
    words = (_WORD.findall(listed) for listed in lists)
    return [tuple(word for word in found if word not in ("and", "or")) for found in words]
