"""What a name or the form of a value tells: a secret, an ordinary value, or neither.

What is not known to be ordinary is treated as a secret by those who ask, so only closed kinds are
ordinary here.
"""

from __future__ import annotations

import re

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_TELLING = """
apikey auth authentication authorization bearer cookie cookies cred creds dsn jwt key keys pass
passcode passwords pat pin private pw sig signing token webhook
"""
_TELLING_WORDS = frozenset(_TELLING.split())
_TELLING_PARTS = re.compile(
    r"passw|passphrase|pwd|secret|credential|signature|token(?!i[sz]|s?$)|(?:auth|key|token)$"
)
"""Words that stand in a name without a mark between them, as in ``PGPASSWORD``."""

_SWITCHING = """
true false null none yes no on off auto default debug info warn warning error
basic bearer oauth oauth2
"""
_SWITCHES = frozenset(_SWITCHING.split())
_WORD = r"(?:[a-z]{1,12}|[A-Z]{1,12}|[A-Z][a-z]{1,11})"
_LABEL = r"[a-z]{1,16}\d{0,3}(?:-[a-z]{1,16}\d{0,3}){0,3}"
_HOST = r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]{2,39}\])"
_NAMED_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,5}}"
_DOMAIN = rf"(?:{_LABEL}\.){{1,5}}(?:com|net|org|io|dev|ai|app|cloud|local|internal|test|example)"
_AREAS = "Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc"
_SIDE = "(?:north|south|east|west|central){1,2}"
_ORDINARY = re.compile(
    rf"""
      {_WORD}
    | [+-]?\d{{1,7}} (?:\.\d{{1,6}})? (?:%|ms|[smhdkKMGB]|[kKMG]i?B)?     # a number, with its unit
    | v?\d{{1,4}} (?:\.\d{{1,4}}){{1,3}} | \d{{4}}-\d\d-\d\d              # a version, a date
    | (?:[a-z]{{2,3}}_[A-Z]{{2}} | C) (?:\.UTF-?8)?                       # a locale
    | (?:{_AREAS}) (?:/[A-Z][A-Za-z_-]{{1,20}}){{1,2}}                    # a time zone
    | [a-z]{{2,14}}- (?:gov- | iso[a-z]?-)? {_SIDE} -?\d{{1,2}} (?:-?[a-z])?  # a region of a cloud
    | (?:[a-z]{{2,10}}:// (?:{_HOST}|{_NAMED_HOST}) | {_HOST} | {_DOMAIN})
      (?::\d{{1,5}})? (?:/(?:{_WORD}|v?\d{{1,2}}))* /?                     # a plain address
    """,
    re.X,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[^\0\n]*|[A-Za-z]:[\\/][^\0\n]*")
_PATH_PART = re.compile(r"[\w .@,+()-]{0,80}")

_PROSE_WORD = r"[A-Za-z'’]{1,16}[,.;:!?]?"
_PROSE = re.compile(rf"{_PROSE_WORD}(?:\s+{_PROSE_WORD})+")

_KNOWN_KEY = r"""
    sk[-_][\w-]{8,} | (?:pk|rk|whsec)[-_](?=[\w-]*\d)[\w-]{8,} | gh[pousr]_\w{8,}
  | github_pat_\w{8,} | glpat-[\w-]{8,}
  | xox[a-z]-[\w-]{8,} | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{20,} | ya29\.[\w-]{8,}
  | (?:hf|npm|shpat|shpss|dapi|ntn|dop_v1|lin_api|dckr_pat)_\w{8,} | (?:tvly|pypi)-[\w-]{8,}
  | eyJ[\w-]{8,} (?:\.[\w-]*){1,4} | SG\.[\w-]{8,}\.[\w-]{8,} | ATATT[\w=-]{16,}
  | [a-z]{2,12}[-_] (?:api|key|live|pat|prod|secret|test|token) [-_] (?=[\w-]*\d)[\w-]{8,}
"""
"""How keys of well-known services begin, and the manner of others: ``name_live_…``."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_KEY = re.compile(
    rf"(?<![\w/.-])(?:{_KNOWN_KEY}|{_UUID})(?![\w-])|(?<!sha256:)(?<![\w@#-])[A-Za-z0-9+_-]{{16,}}=*",
    re.X | re.I,
)
_CERTAIN = re.compile(rf"(?:{_KNOWN_KEY}|{_UUID})=*", re.X)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")


def is_switch(value: str) -> bool:
    """Whether a value is blank or a word of no use to anybody, whatever it stands under."""
    text = value.strip().lower()
    return not text or text in _SWITCHES


def is_telling_name(name: str) -> bool:
    """Whether what stands under this name is a secret whatever it looks like.

    Such as ``API_KEY``, ``authToken``, ``--password``, ``X-Auth``; not ``MAX_TOKENS``,
    ``tokenizer``, ``author``.
    """
    words = [word.lower() for word in _HUMP.split(name) if word]
    return any(word in _TELLING_WORDS or _TELLING_PARTS.search(word) for word in words)


def is_ordinary(value: str) -> bool:
    """Whether a value says what anybody may read, such as a number, a word, a region or a path."""
    text = value.strip()
    if is_switch(text) or _ORDINARY.fullmatch(text):
        return True
    if not _PATH.fullmatch(text):
        return False
    parts = re.split(r"[\\/]", text.removeprefix("~"))
    return all(
        (_PATH_PART.fullmatch(part) and not is_key(part)) or (at == 0 and part[1:] == ":")
        for at, part in enumerate(parts)
    )


def is_prose(text: str) -> bool:
    """Whether a text is words, as in a sentence: what an argument says, though not a variable."""
    return _PROSE.fullmatch(text.strip(" \n,.;:!?")) is not None


def is_key(text: str) -> bool:
    """Whether the whole text is clearly a key: of a known make, a UUID, or long and random."""
    return _CERTAIN.fullmatch(text) is not None or (
        re.fullmatch(r"[\w+/=.-]+", text) is not None and _is_random(text)
    )


def keys_in(text: str) -> tuple[str, ...]:
    """What in a longer text is clearly a key; parts of paths and digests of images are none."""
    if _PATH.fullmatch(text.strip()):
        return ()
    return tuple(found[0] for found in _KEY.finditer(text) if is_key(found[0]))


def _is_random(text: str) -> bool:
    """Whether there is a long run of letters of both cases and digits, or a longer one of two."""
    for run in _RUN.findall(text):
        digits = sum(char.isdecimal() for char in run)
        kinds = (digits > 0) + any(char.islower() for char in run) + any(map(str.isupper, run))
        if digits >= 2 and digits < len(run) and (kinds == 3 or len(run) >= 24):
            return True
    return False
