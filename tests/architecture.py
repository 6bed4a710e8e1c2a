"""Reads the package's source and says which house rules it breaks (design: floors and rooms).

Everything here takes source text and returns plain sentences, so that the rules themselves can
be tested with one bad source each.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "host"
ROOT = Path(__file__).resolve().parent.parent

FLOORS: dict[str, int] = {
    "errors": 1,
    "records": 2,
    "text": 3,
    "catalogue": 4,
    "pool": 5,
    "wire": 5,
    "loop": 5,
    "event_bus": 5,
    "config": 6,
    "toolbox": 6,
    "receipt": 6,
    "tracing": 6,
    "assembly": 7,
    "cli": 8,
    "demo": 8,
    "surfaces": 8,
    "__main__": 9,
}
"""Room -> floor. Rooms of one floor stand side by side and never import each other."""

# errors names the record it carries, for type checkers only.
EXEMPT = {("host.errors", "host.records.runs")}

EFFECTS = frozenset(
    (
        "anyio",
        "asyncio",
        "http.client",
        "http.server",
        "httpx",
        "httpx2",
        "io",
        "keyring",
        "logging",
        "mcp",
        "multiprocessing",
        "openai",
        "os",
        "pathlib",
        "random",
        "secrets",
        "select",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "trio",
        "urllib.request",
    )
)
"""What a pure module may not import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import of a module: what is imported, on which line, and whether for types only."""

    target: str
    line: int
    typing_only: bool


def module_name(path: Path, root: Path = ROOT) -> str:
    """``host/text/tokens.py`` -> ``host.text.tokens``; an ``__init__`` is its package."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_sources(root: Path = ROOT) -> dict[str, str]:
    """Module name -> source of every module of the package."""
    return {
        module_name(path, root): path.read_text("utf-8")
        for path in sorted((root / PACKAGE).rglob("*.py"))
    }


@functools.cache
def tree_of(source: str) -> ast.Module:
    """The source, parsed once for all rules."""
    return ast.parse(source)


@functools.cache
def imports_of(source: str) -> tuple[Import, ...]:
    """Every import in a source: plain, from, in functions, under TYPE_CHECKING, by importlib."""
    return tuple(_imports(tree_of(source), typing_only=False))


def _imports(node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _dotted(child.test).endswith("TYPE_CHECKING"):
            for statement in child.body:
                yield from _imports(ast.Module([statement], []), typing_only=True)
            for statement in child.orelse:
                yield from _imports(ast.Module([statement], []), typing_only=typing_only)
            continue
        yield from (Import(target=t, line=n, typing_only=typing_only) for t, n in _targets(child))
        yield from _imports(child, typing_only=typing_only)


def _targets(node: ast.AST) -> Iterator[tuple[str, int]]:
    match node:
        case ast.Import(names=names):
            yield from ((alias.name, node.lineno) for alias in names)
        case ast.ImportFrom(module=module, names=names) if module:
            yield module, node.lineno
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]):
            if _dotted(func).split(".")[-1] in {"import_module", "__import__"}:
                yield name, node.lineno


def _dotted(node: ast.expr) -> str:
    """``a.b`` of a name and its attributes, ``.b`` of an attribute of anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case _:
            return ""


def room_of(module: str) -> str | None:
    """``host.pool.rows`` -> ``pool``; None for the package itself and for foreign modules."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == PACKAGE and rest else None


def floor_problems(module: str, source: str) -> list[str]:
    """Imports that go up, or sideways into another room of the same floor."""
    room = room_of(module)
    if room is None:
        return [
            f"{module}:{found.line} the package itself may import nothing of its rooms"
            for found in imports_of(source)
            if room_of(found.target)
        ]
    if room not in FLOORS:
        return [f"{module} stands on no floor: {room} is not in the plan"]
    problems = []
    for found in imports_of(source):
        other = room_of(found.target)
        if other is None or other not in FLOORS or other == room:
            continue
        exempt = found.typing_only and any(
            module == a and found.target.startswith(b) for a, b in EXEMPT
        )
        if FLOORS[other] >= FLOORS[room] and not exempt:
            way = "up" if FLOORS[other] > FLOORS[room] else "sideways"
            problems.append(f"{module}:{found.line} imports {way}: {found.target}")
    return list(dict.fromkeys(problems))


def purity_problems(module: str, source: str) -> list[str]:
    """Imports of effects in a module that claims to be pure, and calls of ``open``."""
    problems = [
        f"{module}:{found.line} is pure and imports {found.target}"
        for found in imports_of(source)
        if not found.typing_only and _is_effect(found.target)
    ]
    for node in ast.walk(tree_of(source)):
        if not isinstance(node, ast.Call):
            continue
        called = _dotted(node.func)
        if called in {"open", "input", "print"}:
            problems.append(f"{module}:{node.lineno} is pure and calls {called}")
        if called.endswith(("datetime.now", "today")):
            problems.append(f"{module}:{node.lineno} is pure and reads the clock")
    return list(dict.fromkeys(problems))


def _is_effect(target: str) -> bool:
    return target in EFFECTS or target.split(".")[0] in EFFECTS


def cycles(sources: Mapping[str, str]) -> list[list[str]]:
    """Circles of imports among the package's modules, types-only imports included.

    A room's ``__init__`` hands out what its modules hold, so a module that imports from its own
    room's ``__init__`` closes a circle, too.
    """
    graph = {
        module: {
            target for found in imports_of(source) for target in _within(found.target, sources)
        }
        - {module}
        for module, source in sources.items()
    }
    for module, target in EXEMPT:
        graph.get(module, set()).discard(target)
    return [part for part in _components(graph) if len(part) > 1]


def _within(target: str, sources: Mapping[str, str]) -> Iterable[str]:
    while target:
        if target in sources:
            return [target]
        target = target.rpartition(".")[0]
    return []


def _components(graph: Mapping[str, set[str]]) -> list[list[str]]:
    reach = {module: _reachable(graph, module) for module in graph}
    seen: set[str] = set()
    found = []
    for module in graph:
        if module not in seen:
            part = sorted({m for m in reach[module] if module in reach[m]} | {module})
            seen.update(part)
            found.append(part)
    return found


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph.get(waiting.pop(), set()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def size_problems(
    module: str, source: str, *, max_module_lines: int = 400, max_function_lines: int = 40
) -> list[str]:
    """Modules and functions that have grown too long; a function's docstring does not count."""
    problems = []
    lines = len(source.splitlines())
    if lines > max_module_lines:
        problems.append(f"{module} has {lines} lines")
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = _code_lines(node)
            if length > max_function_lines:
                problems.append(f"{module}:{node.lineno} {node.name} has {length} lines")
    return problems


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    docstring = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def has_property_test(source: str) -> bool:
    """Whether a test module holds at least one hypothesis property."""
    return any(
        (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and any(ast.unparse(d).startswith("given(") for d in node.decorator_list)
        )
        or (
            isinstance(node, ast.ClassDef)
            and any("RuleBasedStateMachine" in ast.unparse(base) for base in node.bases)
        )
        for node in ast.walk(ast.parse(source))
    )
