"""Dead letters that the real programs wrote (tests/fixtures), byte for byte, through the worker."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from conftest import BINARY, ROOT, create_topic, produce

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

import programs  # noqa: E402

NAMES = sorted(path.stem for path in programs.DATA.glob("*.json"))

# Said by what can be understood of their error; a share group says nothing of it.
PERMANENT = {"connect-REFUSED", "streams-REFUSED", "spring-REFUSED", "spring-retry-REFUSED", "connect-CAST"}


def key_of_whole(meter):
    return f"{meter}|2026-07-17T00:15:00Z|2"


def key(meter):
    return f"{meter}|2026-07-17T00:00:00+00:00|1"


def copied(record):
    """Not a share group's pointer, of which the read itself is elsewhere."""
    return record["topic"] != "dlq.pointers"


def test_what_the_real_programs_wrote_is_committed_or_parked_for_what_they_say_of_it(new_worker, kafka, names, sql, check_ledger):
    create_topic(kafka, names.source, 1, retention_ms=-1)  # some have the time of the read
    worker = new_worker(config={"replay.auto": "false"})
    records = [record for name in NAMES for record in programs.load(name) if copied(record)]
    fields = ("key", "value", "headers", "timestamp")
    produce(kafka, names.source, [{field: record[field] for field in fields} for record in records])
    stats = worker.run_until_idle(expect=[1]).stats
    assert stats["intake"] == len(records)
    worker.run_until_idle(expect=[0], config={"replay.auto": "true"})

    state, _ = check_ledger(worker)
    assert not state.live
    rows = dict(row.rsplit("|", 1) for row in sql("SELECT idempotency_key, kwh FROM meter_read").splitlines())
    assert rows == {
        **{key(f"{name}-TIMEOUT"): "12.50" for name in NAMES if name != "spring"},
        **{key_of_whole(f"{name}-TIMEOUT"): "3" for name in NAMES},
        **{key(f"{name}-SILENT"): "0.5" for name in NAMES},
        key_of_whole("share-REFUSED"): "7.25",
    }
    permanent = {name for (name, _), event in state.parked.items() if event["cause"] == "permanent"}
    assert permanent == {
        *(key_of_whole(f"{name}-REFUSED") for name in NAMES if name != "share"),
        key("connect-CAST"),
        key("spring-TIMEOUT"),  # refused when a second listener tried it
    }
    malformed = [event["entry"] for event in state.parked.values() if event["cause"] == "malformed"]
    unreadable = [record for record in records if record["value"] in (None, b'{"kwh": ')]
    assert Counter(entry["payload"] for entry in malformed) == Counter(record["value"] for record in unreadable)
    assert len(state.parked) == len(permanent) + len(malformed)


VOLATILE = re.compile("stacktrace|backoff-timestamp|original-timestamp|springDeserializerException")


def shape(record):
    """What is the same whenever a program writes it."""
    headers = [(name, None if VOLATILE.search(name) and value else value) for name, value in record["headers"]]
    return record["topic"], record["partition"], record["key"], record["value"], headers


@pytest.mark.long
def test_what_the_real_programs_write_today_is_what_was_recorded_and_understood_alike(tmp_path):
    subprocess.run([ROOT / "tests" / "fixtures" / "write", "--into", tmp_path], check=True, timeout=600)
    for name in NAMES:
        today, then = programs.load(name, tmp_path), programs.load(name)
        assert list(map(shape, today)) == list(map(shape, then)), name
    understood = BINARY.parents[1] / "tests" / "unit" / "test_fixtures"
    done = subprocess.run([understood], env=os.environ | {"METER_DLQ_FIXTURES": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
