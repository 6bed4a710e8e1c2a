"""The benchmark itself: that it runs, and that a limit exceeded is a failure."""

from __future__ import annotations

import json

import pytest

from tests.bench.hot_paths import as_table, exit_status, figure, main


def test_a_quick_run_prints_every_figure_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "--quick"]) == 0
    report = json.loads(capsys.readouterr().out)
    works = [one["name"].partition(",")[0] for one in report["figures"]]
    assert works == [
        "sanitize",
        "relax",
        "size the transcript",
        "fold",
        "emit",
        "drain through watch",
    ]
    assert all(one["ratio"] > 0 for one in report["figures"])
    assert report["growth_fold"] == report["figures"][3]["ratio"]


@pytest.mark.parametrize(("works", "status"), [([2.0, 9.0, 2.0], 0), ([2.4, 1.0, 2.4], 1)])
def test_a_median_over_its_limit_fails_the_run_and_says_so(works: list[float], status: int) -> None:
    one = figure("fold", "half", 2.3, [1.0, 1.0, 1.0], works)
    assert exit_status([one]) == status
    assert ("exceeded" in as_table([one])) is bool(status)
