"""The tracer of a run: its spans, each current while what it stands for is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from host import __version__
from host.errors import RunFailed, failed_run
from host.loop.run_control import Interrupted
from host.records import (
    Message,
    Run,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
    Turn,
)
from host.text.redaction import Redactor
from host.tracing.attributes import (
    Attributes,
    TracedModel,
    error_type,
    failure_type,
    model_attributes,
    present,
    run_attributes,
    server_attributes,
    turn_attributes,
)
from host.tracing.content import content_text, shown_messages, shown_tools, shown_turn

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanKind, TracerProvider

    from host.pool import ServerState

AGENT_NAME = "agent-host"
PROVIDER_NAME = "openai"
"""The dialect spoken with the endpoint, which is all that ``gen_ai.provider.name`` has to mean."""


def is_traced() -> bool:
    """Whether a provider of spans is installed in this process."""
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, get_tracer_provider

    return not isinstance(get_tracer_provider(), NoOpTracerProvider | ProxyTracerProvider)


class OpenTelemetryTracer:
    """Makes the spans of one run (a ``RunTracer``).

    Args:
        capture_content: also record messages, tool schemas, arguments, results and errors' texts.
        tracer_provider: None for the installed one.
        run_id: the run's name on the event bus.
        conversation_id: of a session that has a name; None rather than one made up.
        servers: tells the servers and their tools, as ``ServerPool.state`` does.
        redactor: takes secrets out of recorded content.
    """

    def __init__(
        self,
        *,
        capture_content: bool = False,
        tracer_provider: TracerProvider | None = None,
        model: TracedModel | None = None,
        run_id: str | None = None,
        conversation_id: str | None = None,
        servers: Callable[[], Sequence[ServerState]] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        from opentelemetry import trace

        self._tracer = trace.get_tracer(AGENT_NAME, __version__, tracer_provider)
        self._kinds = trace.SpanKind
        self._model = model or TracedModel()
        self._run_id = run_id
        self._conversation = present({"gen_ai.conversation.id": conversation_id})
        self._places = _Places(servers)
        self._redactor = (redactor or Redactor()) if capture_content else None

    @contextmanager
    def run(self, messages: Sequence[Message] = ()) -> Iterator[TracedSpan]:
        """The ``invoke_agent`` span."""
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDER_NAME,
            "gen_ai.agent.name": AGENT_NAME,
            **present(
                {"gen_ai.request.model": self._model.name, "agent_host.run.id": self._run_id}
            ),
            **self._conversation,
        }
        with self._span(f"invoke_agent {AGENT_NAME}", self._kinds.INTERNAL, attributes) as span:
            span.tell_content("gen_ai.input.messages", lambda: shown_messages(messages))
            yield span

    @contextmanager
    def request(
        self,
        step: int,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition] = (),
        *,
        purpose: str = "turn",
        as_json: bool = False,
        own_model: bool = True,
    ) -> Iterator[TracedSpan]:
        """A ``chat`` span."""
        model = self._model if own_model else TracedModel()
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDER_NAME,
            **model_attributes(model),
            **self._conversation,
            "agent_host.step": step,
        }
        if as_json:
            attributes["gen_ai.output.type"] = "json"
        if purpose != "turn":
            attributes["agent_host.purpose"] = purpose
        name = f"chat {model.name}" if model.name else "chat"
        with self._span(name, self._kinds.CLIENT, attributes) as span:
            span.tell_content("gen_ai.input.messages", lambda: shown_messages(messages))
            if tools:
                span.tell_content("gen_ai.tool.definitions", lambda: shown_tools(tools))
            yield span

    @contextmanager
    def call(self, step: int, request: ToolCallRequest) -> Iterator[TracedSpan]:
        """An ``execute_tool`` span, with the server that the tool was found on."""
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": request.name,
            "gen_ai.tool.call.id": request.id,
            "gen_ai.tool.type": "function",
            **self._conversation,
            "agent_host.step": step,
        }
        with self._span(f"execute_tool {request.name}", self._kinds.INTERNAL, attributes) as span:
            span.tell_content("gen_ai.tool.call.arguments", lambda: request.args)
            try:
                yield span
            finally:  # a server that was asleep before is awake by now
                span.tell(lambda: self._places.of(request.name))

    @contextmanager
    def _span(self, name: str, kind: SpanKind, attributes: Attributes) -> Iterator[TracedSpan]:
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=attributes,
            record_exception=False,  # its text may be content
            set_status_on_exception=False,
        ) as span:
            traced = TracedSpan(span, self._redactor)
            try:
                yield traced
            except BaseException as error:
                traced.left_with(error)
                raise


class TracedSpan:
    """A span under way, of any of the three kinds.

    Args:
        redactor: takes secrets out of content; None where no content is recorded.
    """

    def __init__(self, span: Span, redactor: Redactor | None) -> None:
        self._span = span
        self._redactor = redactor

    def ended(self, run: Run) -> None:
        """Takes the finished run."""
        self.tell(lambda: {**run_attributes(run), "agent_host.stop_reason": run.stop_reason})
        turn = run.turn
        if turn is not None:
            self.tell_content("gen_ai.output.messages", lambda: [shown_turn(turn)])

    def answered(self, turn: Turn) -> None:
        """Takes the model's answer."""
        self.tell(lambda: turn_attributes(turn))
        self.tell_content("gen_ai.output.messages", lambda: [shown_turn(turn)])

    def returned(self, outcome: ToolSuccess | ToolFailure) -> None:
        """Takes what became of the call."""
        if isinstance(outcome, ToolFailure):
            self._fail(failure_type(outcome.code), outcome.message)
        else:
            self.tell_content("gen_ai.tool.call.result", lambda: outcome.result)

    def left_with(self, error: BaseException) -> None:
        """Takes what ended the block before its end."""
        if isinstance(error, Interrupted):
            reason: str = error.reason
            self.tell(lambda: {"agent_host.stop_reason": reason})
        elif not isinstance(error, Exception):
            self.tell(lambda: {"agent_host.stop_reason": "cancelled"})
        else:
            run = failed_run(error)
            if run is not None:
                self.tell(lambda: run_attributes(run))
            cause = error.__cause__ if isinstance(error, RunFailed) else None
            self._fail(error_type(cause or error), str(error))

    def tell(self, attributes: Callable[[], Attributes]) -> None:
        """Sets attributes, which are made only for a span that is recorded."""
        if not self._span.is_recording():
            return
        try:
            self._span.set_attributes(attributes())
        except Exception:  # noqa: BLE001 - containment: a run never fails for its trace
            return

    def tell_content(self, name: str, content: Callable[[], object]) -> None:
        """Sets content, where it was asked for."""
        redactor = self._redactor
        if redactor is not None:  # before the JSON is written as well, which escapes once more
            clear = redactor.redact_values
            self.tell(lambda: {name: redactor.redact(content_text(clear(content())))})

    def _fail(self, kind: str, text: str) -> None:
        from opentelemetry.trace import StatusCode

        self.tell(lambda: {"error.type": kind})
        shown = None if self._redactor is None else self._redactor.redact(text)
        self._span.set_status(StatusCode.ERROR, shown)


class _Places:
    """Where tools are served, as far as their servers' states tell."""

    def __init__(self, servers: Callable[[], Sequence[ServerState]] | None) -> None:
        self._servers = servers
        self._states: dict[str, ServerState] = {}

    def of(self, name: str) -> Attributes:
        """The attributes of the server that serves the tool; {} for an unknown one."""
        state = self._states.get(name)
        if self._servers is not None and (state is None or state.era is None):
            self._states = {  # of two with one name the first has it
                tool.qualified: server
                for server in reversed(self._servers())
                for tool in server.tools
            }
            state = self._states.get(name)
        return {} if state is None else server_attributes(state)
