"""A form on a terminal: how its fields are asked for, and what a typed line means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from host.pool.arguments import coerce_arguments
from host.pool.form_fields import FormField, FormValue, field_problems
from host.text.json_text import compact_json

YES = frozenset({"y", "yes", "true", "on", "1"})
NO = frozenset({"n", "no", "false", "off", "0"})

_WANTED: Mapping[str, str] = {
    "text": "text",
    "integer": "whole number",
    "number": "number",
    "switch": "y or n",
    "choice": "one of these, by number or name",
    "choices": "any of these, by number or name, with commas between",
}
_FORMATS: Mapping[str, str] = {
    "email": "email address",
    "uri": "address such as https://example.org/",
    "date": "date such as 2026-03-01",
    "date-time": "moment such as 2026-03-01T12:00:00Z",
}
_LIMITS: Mapping[str, str] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


def field_lines(field: FormField, number: int, count: int) -> list[str]:
    """The lines that ask for a field, its choices numbered."""
    notes = [_FORMATS.get(field.format, _WANTED[field.kind])]
    notes += (
        words.format(limit)
        for name, words in _LIMITS.items()
        if isinstance(limit := field.schema.get(name), int | float)
    )
    if field.default is not None:
        notes.append(f"Enter for {shown_value(field, field.default)}")
    elif not field.is_required:
        notes.append("Enter for nothing")
    lines = [f"  {number}/{count} {field.title} ({'; '.join(notes)})"]
    if field.description:
        lines.append(f"      {field.description}")
    lines += (f"      {at} {choice.title}" for at, choice in enumerate(field.choices, start=1))
    return lines


def shown_value(field: FormField, value: FormValue) -> str:
    """A value as a person reads it."""
    titles = {choice.value: choice.title for choice in field.choices}
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(titles.get(each, each) for each in value) or "none"
    return titles.get(value, value) if isinstance(value, str) else compact_json(value)


def typed_value(field: FormField, line: str) -> FormValue | None:
    """What a typed line answers a field with; None leaves it out.

    Raises:
        ValueError: it does not answer it; the text says what would.
    """
    typed = line.strip()
    if not typed:
        if field.is_required and field.default is None:
            raise ValueError("this one is needed")
        return field.default
    value = _read(field, typed)
    if problems := field_problems(field, value):
        raise ValueError("; ".join(problems))
    if isinstance(value, str) and not _has_format(value, field.format):
        raise ValueError(f"must be a valid {_FORMATS[field.format]}")
    return value


def _read(field: FormField, typed: str) -> FormValue:
    match field.kind:
        case "text":
            return typed
        case "switch":
            if typed.lower() not in YES | NO:
                raise ValueError("must be y or n")
            return typed.lower() in YES
        case "choice":
            return _chosen(field, typed)
        case "choices":
            parts = [part.strip() for part in typed.split(",")]
            return list(dict.fromkeys(_chosen(field, part) for part in parts if part))
        case _:
            return _number(field.kind, typed)


def _number(kind: str, typed: str) -> FormValue:
    shape: dict[str, Any] = {"properties": {"it": {"type": kind}}, "required": ["it"]}
    read, problems = coerce_arguments(shape, {"it": typed})
    if problems:
        raise ValueError(f"must be a {_WANTED[kind]}")
    number: FormValue = read["it"]
    return number


def _chosen(field: FormField, typed: str) -> str:
    """The value of a choice: by itself, by its title, or by its number, whichever fits first."""
    for choice in field.choices:
        if typed == choice.value:
            return choice.value
    for choice in field.choices:
        if typed.casefold() in (choice.title.casefold(), choice.value.casefold()):
            return choice.value
    for number, choice in enumerate(field.choices, start=1):
        if typed == str(number):
            return choice.value
    raise ValueError(f"must be a number from 1 to {len(field.choices)}, or one of the names")


def _has_format(text: str, format_: str) -> bool:
    """Whether a text is what its format says; of a format that is not known, it is."""
    try:
        match format_:
            case "email":
                name, at, place = text.rpartition("@")
                return bool(name and at and place and not set(text) & set(" \t"))
            case "uri":
                return bool(urlsplit(text).scheme) and not set(text) & set(" \t")
            case "date":
                return date.fromisoformat(text) is not None
            case "date-time":
                return datetime.fromisoformat(text) is not None and "T" in text.upper()
            case _:
                return True
    except ValueError:
        return False


def answer_lines(fields: Sequence[FormField], content: Mapping[str, FormValue]) -> list[str]:
    """What is about to be sent, one line for each field that was answered."""
    given = [field for field in fields if field.name in content]
    return [f"    {field.title}: {shown_value(field, content[field.name])}" for field in given]
