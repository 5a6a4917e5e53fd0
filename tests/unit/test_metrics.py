"""What Prometheus reads: its text format allows each metric to be described once."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from gateway.observability.metrics import Gauge, exposition


def _left(subject: str, seconds: float) -> Gauge:
    return Gauge("realmgate_left", "Time left.", seconds, (("subject", subject),))


def test_gauges_of_one_name_are_described_once_and_each_is_told(tmp_path: Path) -> None:
    other = Gauge("realmgate_other", "Another.", 3.0)
    text = exposition(tmp_path, lambda: [_left("CN=a", 1.0), other, _left('CN="b"', 2.0)]).decode()
    assert text.count("# HELP realmgate_left ") == 1
    told = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert told == {
        ("realmgate_left", "CN=a"): 1.0,
        ("realmgate_left", 'CN="b"'): 2.0,
        ("realmgate_other",): 3.0,
    }
