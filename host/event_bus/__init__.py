"""What happens in a run, for whoever watches: per run, in memory, capped.

Usable alone. Everything belongs to the event loop that watches; nothing here starts a task.
"""

from host.event_bus.bus import EventBus, EventWatch
from host.event_bus.folding import fold
from host.event_bus.metrics import RunMetrics, run_metrics

__all__ = ["EventBus", "EventWatch", "RunMetrics", "fold", "run_metrics"]
