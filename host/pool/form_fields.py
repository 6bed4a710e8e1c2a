"""The fields of a form that a server asks a person to fill in.

A form's schema is flat: an object whose properties are texts, numbers, switches, one of several
texts, or several of several texts (MCP 2025-11-25 "Elicitation"). The older ways to give choices
(``enum`` with ``enumNames``) are read, and a property that may also be null, as servers in Python
write an optional one, is read as one that may be left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from host.text.terminal_text import one_line
from host.text.truncation import preview

FieldKind = Literal["text", "integer", "number", "switch", "choice", "choices"]
FormValue: TypeAlias = str | int | float | bool | list[str]

MAX_FIELDS = 100
MAX_CHOICES = 1000
MAX_LINE_CHARS = 500

_KINDS: Mapping[str, FieldKind] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "switch",
}

_EXPECTED: Mapping[FieldKind, str] = {
    "text": "must be a text",
    "integer": "must be a whole number",
    "number": "must be a number",
    "switch": "must be true or false",
    "choice": "must be one of the choices",
    "choices": "must be a list of choices",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormChoice:
    """One of the values that may be chosen, and how a person is shown it: one clean line."""

    value: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One thing a form asks for.

    Attributes:
        name: the property the answer goes under, as the server wrote it.
        kind: ``choice`` takes one of ``choices``, ``choices`` takes any number of them.
        title, description: clean lines for a person; the title is the name where there is none.
        default: what stands for an answer that is left out; None for nothing.
        format: what a text is to be: ``email``, ``uri``, ``date``, ``date-time`` or "".
        schema: the property's own schema.
    """

    name: str
    kind: FieldKind
    title: str
    description: str
    is_required: bool
    default: FormValue | None
    choices: tuple[FormChoice, ...]
    format: str
    schema: Mapping[str, Any]


def form_fields(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """The fields of a form, in its order; defaults that do not fit are left out.

    Raises:
        ValueError: it is no flat form of simple values, or a larger one than a person fills in.
    """
    properties = schema.get("properties", {})
    is_form = isinstance(properties, Mapping) and len(properties) <= MAX_FIELDS
    if not is_form or not all(isinstance(each, Mapping) for each in properties.values()):
        raise ValueError("no properties, or too many, or some without a schema")
    required = schema.get("required")
    names = required if isinstance(required, list | tuple) else ()
    return tuple(
        _field(name, written, is_required=name in names) for name, written in properties.items()
    )


def filled_in(fields: Sequence[FormField], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with the default of every field it does not name (SEP-1034)."""
    defaults = {field.name: field.default for field in fields if field.default is not None}
    return {**defaults, **content}


def misfits(fields: Sequence[FormField], content: Mapping[str, Any]) -> list[str]:
    """Names of what keeps the content from being the answer to a form, without its values.

    These are fields that are missing or do not fit, and names that were not asked for.
    """
    by_name = {field.name: field for field in fields}
    wrong = [field.name for field in fields if field.is_required and field.name not in content]
    wrong += (name for name in content if name not in by_name)
    wrong += (
        name
        for name, value in content.items()
        if name in by_name and field_problems(by_name[name], value)
    )
    return wrong


def field_problems(field: FormField, value: object) -> list[str]:
    """What keeps a value from answering a field, each problem as a clause; [] for a good one.

    Formats are not judged.
    """
    if not _is_of_kind(field, value):
        return [_EXPECTED[field.kind]]
    from host.pool.bounded_validation import violations

    return list(dict.fromkeys(each.text for each in violations(field.schema, value)))


def _field(name: str, written: Mapping[str, Any], *, is_required: bool) -> FormField:
    schema = _one_form(written)
    choices = _choices(schema)
    field = FormField(
        name=name,
        kind=_kind(schema, choices),
        title=_line(schema.get("title")) or _line(name),
        description=_line(schema.get("description")),
        is_required=is_required,
        default=None,
        choices=choices,
        format=_line(schema.get("format")),
        schema=schema,
    )
    return _with_default(field)


def _one_form(written: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without its alternative null: of ``anyOf`` or in a list of types."""
    types = written.get("type")
    if isinstance(types, list | tuple):
        kept = [each for each in types if each != "null"]
        if len(kept) != 1:
            raise ValueError("a property of more than one type")
        return {**written, "type": kept[0]}
    if types is None and isinstance(forms := written.get("anyOf"), list | tuple):
        wanted = [each for each in forms if isinstance(each, Mapping)]
        wanted = [each for each in wanted if each.get("type") != "null"]
        if len(wanted) != 1 or len(forms) - len(wanted) != 1:
            raise ValueError("a property of more than one form")
        rest = {name: value for name, value in written.items() if name != "anyOf"}
        return {**wanted[0], **rest}
    return written


def _kind(schema: Mapping[str, Any], choices: tuple[FormChoice, ...]) -> FieldKind:
    kind = schema.get("type", "string" if choices else None)
    if kind == "array" and choices:
        return "choices"
    if kind == "string" and choices:
        return "choice"
    if choices or not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError("a property that is no simple value")
    return _KINDS[kind]


def _choices(schema: Mapping[str, Any]) -> tuple[FormChoice, ...]:
    items = schema.get("items")
    within = items if isinstance(items, Mapping) else schema
    listed = within.get("oneOf", within.get("anyOf"))
    if listed is None:
        values, titles = within.get("enum"), within.get("enumNames")
    elif isinstance(listed, list | tuple) and all(isinstance(each, Mapping) for each in listed):
        values = [each.get("const") for each in listed]
        titles = [each.get("title") for each in listed]
    else:
        raise ValueError("choices that are none")
    if values is None:
        return ()
    if not isinstance(values, list | tuple) or not 0 < len(values) <= MAX_CHOICES:
        raise ValueError("no choices, or too many")
    if not all(isinstance(value, str) for value in values):
        raise ValueError("choices that are no texts")
    if not isinstance(titles, list | tuple) or len(titles) != len(values):
        titles = [None] * len(values)
    return tuple(
        FormChoice(value=value, title=_line(title) or _line(value))
        for value, title in zip(values, titles, strict=True)
    )


def _with_default(field: FormField) -> FormField:
    default = field.schema.get("default")
    if default is None or field_problems(field, default):
        return field
    return replace(field, default=default)


def _is_of_kind(field: FormField, value: object) -> bool:
    match field.kind:
        case "text":
            return isinstance(value, str)
        case "switch":
            return isinstance(value, bool)
        case "choice" | "choices":
            chosen = value if field.kind == "choices" else [value]
            values = [choice.value for choice in field.choices]
            return isinstance(chosen, list) and all(each in values for each in chosen)
        case _:
            return _is_number(value, is_whole=field.kind == "integer")


def _is_number(value: object, *, is_whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, int):
        return True
    return value.is_integer() if is_whole else math.isfinite(value)


def _line(text: object) -> str:
    return preview(one_line(text), MAX_LINE_CHARS) if isinstance(text, str) else ""
