"""A program, not a library: serves one GGUF file over HTTP on a loopback port, with xllamacpp.

It is started as ``python -P engine_program.py FILE`` in a session of its own and imports nothing
of this package. It writes JSON lines on its standard output, and whatever it or the engine logs on
its standard error:

- ``{"memory": BYTES}`` when the engine can be used: the memory of this machine's devices together;
- ``{"address": URL}`` when the model is loaded and asked there;
- ``{"problem": "missing" | "broken" | "load" | "wish", "text": ...}`` before it ends for that
  reason; a wish is something it was told and cannot take.

After the first it reads one line, ``{"name", "key", "context", "cacheMib"}``; when its input ends,
so does it. The port is whichever is free: the engine itself binds it.
"""

import importlib
import json
import os
import sys
from typing import Any

FAILED = 3
"""The exit status after a problem that was told."""


def main() -> None:
    """Introduce yourself, load, serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the engine logs where it likes

    def say(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        engine = importlib.import_module("xllamacpp")
        devices = engine.get_device_info()
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "xllamacpp"
        say(problem="missing" if missing else "broken", text=str(error))
        sys.exit(FAILED)
    say(memory=sum(device["memory_total"] for device in devices))
    wanted = sys.stdin.buffer.readline()
    if not wanted:
        return
    try:
        server = engine.Server(parameters(engine, sys.argv[1], json.loads(wanted), devices))
    except (RuntimeError, MemoryError) as error:
        say(problem="load", text=str(error))
        sys.exit(FAILED)
    except (OverflowError, TypeError, ValueError) as error:
        say(problem="wish", text=str(error))
        sys.exit(FAILED)
    say(address=server.listening_address)
    sys.stdin.buffer.read()
    os._exit(0)  # a request under way would hold up an orderly end


def parameters(engine: Any, path: str, wanted: dict[str, Any], devices: list[Any]) -> Any:
    """One slot on a free loopback port, for whoever has the key; nothing for browsers."""
    chosen = engine.CommonParams()
    chosen.model.path = path
    chosen.model_alias = {wanted["name"]}
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = 0
    chosen.api_keys = [wanted["key"]]
    chosen.cors_origins = ""
    chosen.ui = False
    chosen.n_ctx = wanted["context"]
    chosen.n_parallel = 1
    chosen.cache_ram_mib = wanted["cacheMib"]
    chosen.use_jinja = True
    chosen.verbosity = 2  # warnings and errors
    # Fitting layers to the devices reads the file twice, for nothing where there is only a CPU.
    chosen.fit_params = any("CPU" not in device["type"].name for device in devices)
    return chosen


if __name__ == "__main__":
    main()
