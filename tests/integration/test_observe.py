"""What people see: metrics, readiness, logs, alerts, the dashboard and the runbooks."""

import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter

import confluent_kafka
import pytest
from conftest import LONG, ROOT, bad, dead_letter, good, produce, read_key, read_state, refuse, wait_until
from prometheus import Prometheus

OPS = ROOT / "worker" / "ops"
ALERTS = re.findall(r"- alert: (\w+)", (OPS / "alerts.yml").read_text())
DASHBOARD = json.loads((OPS / "grafana" / "meter-dlq.json").read_text())
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
# Failed once, a read waits longer than any test.
WAIT_LONG = {"replay.backoff.initial": "1h", "replay.backoff.max": "1h"}
PAYLOAD = '{"kwh": "1.25", "note": "a secret of the customer"}'


def get(running, path, method="GET", **headers):
    """(status, headers, body)."""
    port = running.wait_for_log(r"listening on 127\.0\.0\.1:(\d+)")[1]
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def log_lines(running):
    return [json.loads(line) for line in running.log().splitlines() if line.startswith("{")]


def total(metrics, name):
    """The sum of a family's series."""
    return sum(value for series, value in metrics.items() if series.split("{")[0] == name)


def labelled(metrics, name, label):
    return {series.split('"')[1]: value for series, value in metrics.items() if series.startswith(f"{name}{{{label}=")}


def promtool(*arguments, **options):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    # `check metrics` tells what it would rather have, and exits with 0 in some versions.
    return done.stdout + done.stderr


# --- counts ----------------------------------------------------------------------------------------------------------


def mixed(n):
    """Dead letters of n reads: good ones, every tenth twice; every eighth of another kind."""
    kinds = {
        1: lambda i: bad([i]),
        3: lambda i: good([i], reason="permanent_4xx"),
        5: lambda i: [dead_letter(read_key(i), "{broken")],
        7: lambda i: [dead_letter(read_key(i), PAYLOAD), dead_letter(read_key(i), '{"kwh": "9"}')],  # a conflict
    }
    for i in range(n):
        make = kinds.get(i % 64, good if i % 10 else lambda i: good([i, i]))
        yield from make([i]) if make is good else make(i)


def check_times(metrics, state, kafka_partitions):
    """Oldest and next due of each partition, against an independent reading of the topic."""
    for name, field in (("oldest_entry", "first_seen_utc"), ("next_due", "due_utc")):
        shown = labelled(metrics, f"meter_dlq_{name}_timestamp_seconds", "partition")
        assert len(shown) == kafka_partitions
        earliest = min(entry[field] for entry in state.live.values()).timestamp()
        assert min(value for value in shown.values() if value == value) == pytest.approx(earliest, abs=1e-5)


def test_after_a_kill_metrics_and_passes_equal_the_counts_of_the_audit(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=WAIT_LONG | {"batch.max.records": 500})
    refuse(sql)
    produce(kafka, names.source, mixed(100_000 if LONG else 3_000))
    dying = worker.start(config={"crash.at": "after-sink-commit"})
    assert dying.wait(60) == -9
    rows_before, parked_before = int(sql("SELECT count(*) FROM meter_read")), len(read_state(kafka, names).parked)
    running = worker.start()

    def settled():
        metrics = running.metrics()
        due = labelled(metrics, "meter_dlq_outcomes_total", "outcome")
        return total(metrics, "meter_dlq_ready") and due.get("requeued") == total(metrics, "meter_dlq_entries") > 0

    wait_until(settled, 300 if LONG else 40, "all to be tried", interval=0.3)
    wait_until(lambda: running.metrics()["meter_dlq_tickets{state=\"live\"}"] == len(read_state(kafka, names).live), 60, "it to rest")
    state, rows = check_ledger(worker)
    metrics = running.metrics()
    # The live pipeline commits none of them, so that what the audit calls parked is what is in the parked topic.
    counts = worker.audit().ledger[-1]
    assert (counts["missing"], counts["different"]) == (0, 0)
    assert total(metrics, "meter_dlq_entries") == counts["queued"] == len(state.live)
    assert total(metrics, "meter_dlq_parked_reads") == counts["parked"] == len(state.parked)
    assert total(metrics, "meter_dlq_parked_total") == len(state.parked) - parked_before
    outcomes = labelled(metrics, "meter_dlq_outcomes_total", "outcome")
    assert outcomes["committed"] == len(rows) - rows_before
    assert outcomes["requeued"] == len(state.live)
    # What the dead one had committed and not told Kafka.
    assert outcomes["duplicate"] == rows_before > 0
    causes = Counter(event["cause"] for event in state.parked.values())
    assert set(causes) == {"permanent", "malformed", "conflict"}
    check_times(metrics, state, 6)
    assert metrics["meter_dlq_sink_call_seconds_count"] > 0 and metrics["meter_dlq_transaction_seconds_count"] > 0
    assert running.terminate() == 0
    check_passes(running, metrics)
    check_parked_lines(running, state, len(state.parked) - parked_before)


def check_passes(running, metrics):
    """The passes in the log add up to the counters."""
    passes = [line for line in log_lines(running) if line["event"] == "pass"]
    outcomes = labelled(metrics, "meter_dlq_outcomes_total", "outcome")
    intake = labelled(metrics, "meter_dlq_intake_records_total", "result")
    for word in ("committed", "duplicate", "requeued"):
        assert sum(line[word] for line in passes) == outcomes[word]
    assert sum(line["parked"] for line in passes) == total(metrics, "meter_dlq_parked_total")
    for word in ("merged", "seen"):
        assert sum(line[word] for line in passes) == intake[word]


def check_parked_lines(running, state, parked):
    """Each says where its dead letter is, under which key, and nothing of the payload; what was left out was counted."""
    lines = [line for line in log_lines(running) if line["event"] == "parked"]
    by_key = {key: event for (key, _), event in state.parked.items()}
    for line in (line for line in lines if "key" in line):
        entry = by_key[line["key"]]["entry"]
        assert entry["dead_letter"] == {word: line[word] for word in ("topic", "partition", "offset")}
        assert f"as {by_key[line['key']]['cause']}, attempts {entry['attempts']}" in line["text"]
    assert sum(1 for line in lines if "key" in line) + sum(line.get("left_out", 0) for line in lines) == parked
    assert "secret" not in running.log() and "kwh" not in running.log()


# --- /metrics --------------------------------------------------------------------------------------------------------


@pytest.fixture
def node_exporter(tmp_path):
    """(file, host:port): shows the file as node_exporter's textfile collector does."""
    file = tmp_path / "meter_dlq_audit.prom"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(file.read_bytes())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield file, f"127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def prometheus(tmp_path):
    started = []

    def start(targets):
        started.append(Prometheus(tmp_path / "prometheus", targets))
        return started[0].start()

    yield start
    for server in started:
        server.kill()


def dashboard_queries():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$job", "meter-dlq").replace("$__rate_interval", "1m")


def check_families(text):
    """Every series of the table is there, but those of partitions; promtool has no complaint."""
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [(name, kind.replace("info", "gauge")) for name, kind in listed] == families
    assert not re.search(r'\b(key|meter|meter_id|idempotency_key)="', text)
    assert promtool("check", "metrics", input=text) == ""


def test_each_query_of_the_dashboard_and_each_alert_works_in_a_real_prometheus(
    new_worker, kafka, names, sql, prometheus, node_exporter
):
    worker = new_worker(config=WAIT_LONG)
    refuse(sql)
    running = worker.start()
    status, headers, text = get(running, "/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    check_families(text)
    status, headers, text = get(running, "/metrics", Accept=OPENMETRICS)
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("\n# EOF\n") and "# TYPE meter_dlq_parked counter\n" in text
    running.wait_restored()
    port = running.wait_for_log(r"listening on 127\.0\.0\.1:(\d+)")[1]
    # It asks for OpenMetrics, and refuses a scrape that is none.
    audit_file, node = node_exporter
    worker.audit("--metrics", audit_file)
    server = prometheus({"meter-dlq": [f"127.0.0.1:{port}"], "node": [node]})
    wait_until(lambda: server.up() == {"meter-dlq": True, "node": True}, what="both to be scraped")
    produce(kafka, names.source, good(range(200)) + bad(range(20)) + good(range(300, 303), reason="permanent_4xx"))
    wait_until(lambda: running.metrics()['meter_dlq_outcomes_total{outcome="requeued"}'] == 20, what="all to be tried")
    wait_until(lambda: server.query("sum(rate(meter_dlq_outcomes_total[1m])) > 0"), what="a rate")
    wait_until(lambda: server.query("min(meter_dlq_kafka_brokers_up) > 0"), what="librdkafka's statistics")
    without = [(title, query) for title, query in dashboard_queries() if not server.query(query)]
    assert without == []
    assert server.query("sum(meter_dlq_entries)")[0][1] == "20"
    assert server.query("max(time() - meter_dlq_oldest_entry_timestamp_seconds)")[0][1] != "NaN"
    wait_until(lambda: all(health != "unknown" for health, _ in server.rules().values()), what="the rules to be evaluated")
    assert server.rules() == {name: ("ok", None) for name in ALERTS}
    assert running.terminate() == 0


def test_an_empty_queue_has_counts_of_zero_and_times_of_nan_and_its_oldest_entry_ages_while_idle(new_worker, kafka, names):
    worker = new_worker(partitions=1, config={"replay.auto": "false"})
    running = worker.start()
    running.wait_restored()
    oldest = 'meter_dlq_oldest_entry_timestamp_seconds{partition="0"}'
    metrics = wait_until(lambda: (m := running.metrics()).get('meter_dlq_entries{partition="0"}') == 0 and m, what="the partition")
    assert metrics[oldest] != metrics[oldest] and metrics["meter_dlq_ready"] == 1
    produce(kafka, names.source, good([1]))
    wait_until(lambda: running.metrics()['meter_dlq_entries{partition="0"}'] == 1, what="the entry")
    (entry,) = read_state(kafka, names).live.values()
    first, turn = running.metrics()[oldest], running.metrics()["meter_dlq_last_turn_timestamp_seconds"]
    assert first == pytest.approx(entry["first_seen_utc"].timestamp(), abs=1e-5)
    wait_until(lambda: running.metrics()["meter_dlq_last_turn_timestamp_seconds"] > turn + 0.3, what="the idle loop to tick")
    assert running.metrics()[oldest] == first
    status, _, body = get(running, "/healthz")
    assert (status, body) == (200, "ok\n")
    assert get(running, "/metrics", method="HEAD")[0::2] == (200, "")
    status, headers, _ = get(running, "/metrics", method="POST")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert get(running, "/nothing")[0] == 404


# --- /readyz ---------------------------------------------------------------------------------------------------------


def reasons(running):
    """The first words of the reasons; none is ready."""
    status, headers, body = get(running, "/readyz")
    answer = json.loads(body)
    assert headers["Content-Type"] == "application/json"
    assert (status == 200) == answer["ready"] == (answer["reasons"] == [])
    return [reason.split(":")[0] for reason in answer["reasons"]]


def test_readiness_waits_for_the_group_the_restore_and_postgres_and_names_what_it_waits_for(new_worker, kafka, postgres, names):
    worker = new_worker()
    stranger = confluent_kafka.Producer(kafka.client_config() | {"transactional.id": names.prefix, "transaction.timeout.ms": 60000})
    stranger.init_transactions(10)
    stranger.begin_transaction()
    stranger.produce(names.dlq, key="hanging", value="x", partition=0)
    assert stranger.flush(10) == 0
    running = worker.start(config={"sink.conninfo": "host=127.0.0.1 port=1 dbname=none"})
    assert reasons(running) == ["not joined", "not restored", "contract not verified"]
    wait_until(lambda: reasons(running) == ["not restored", "contract not verified"], what="it to join")
    assert running.metrics()["meter_dlq_restoring"] == 1
    stranger.abort_transaction(10)
    wait_until(lambda: reasons(running) == ["contract not verified"], what="it to restore")
    wait_until(lambda: running.metrics()["meter_dlq_sink_up"] == 0, what="the probe to fail")
    assert running.terminate() == 0
    running = worker.start()
    wait_until(lambda: reasons(running) == [], what="it to be ready")
    assert running.metrics()["meter_dlq_ready"] == running.metrics()["meter_dlq_sink_up"] == 1
    assert running.terminate() == 0


# --- logs ------------------------------------------------------------------------------------------------------------


def test_log_lines_are_json_or_text_as_log_format_says(new_worker, kafka, names):
    worker = new_worker(config=WAIT_LONG)
    produce(kafka, names.source, [dead_letter(read_key(1), PAYLOAD, reason="permanent_4xx", partition=0)])
    text = worker.run_until_idle(config={"log.format": "text"}).stderr.splitlines()
    parked = f"warning parked: {names.source} partition 0 offset 0 key {read_key(1)}: as permanent, attempts 1"
    assert [line.split(" ", 1)[1] for line in text if " parked: " in line] == [parked]
    assert all(re.match(r"20\S+Z (info|warning|error) [a-z-]+: ", line) for line in text), text
    lines = [json.loads(line) for line in worker.run_until_idle(config={"log.format": "auto"}).stderr.splitlines()]
    assert all({"time", "level", "event", "text"} <= line.keys() for line in lines)
    assert {"started", "assigned", "restored", "ended"} <= {line["event"] for line in lines}
    assert "none of auto, json, text" in worker.call("run", config={"log.format": "xml"}, expect=[2]).stderr


# --- what lies in worker/ops -----------------------------------------------------------------------------------------


def test_promtool_accepts_the_rules_and_each_alert_fires_keeps_quiet_and_resolves_as_its_tests_say():
    promtool("check", "rules", OPS / "alerts.yml")
    promtool("test", "rules", "alerts_test.yml", cwd=OPS)
    tests = (OPS / "alerts_test.yml").read_text()
    for alert in ALERTS:
        cases = re.findall(rf"alertname: {alert}\b(.*?)(?=\n\s+- |\Z)", tests, re.DOTALL)
        firing = re.findall(rf"alertname: {alert}\n.*?exp_alerts:", tests)
        assert len(cases) >= 3 or alert == "MeterDlqNoScrape", f"{alert} is tested {len(cases)} times"
        assert firing or re.search(rf"alertname: {alert}\n\s+eval_time: \S+\n\s+exp_alerts:", tests), f"no test makes {alert} fire"


def test_each_alert_has_a_runbook_that_says_what_to_do_and_each_runbook_an_alert():
    pages = {page.stem: page.read_text() for page in (OPS / "runbooks").glob("*.md")}
    assert set(pages) == set(ALERTS)
    links = re.findall(r"runbook_url: (\S+)", (OPS / "alerts.yml").read_text())
    assert links == [f"worker/ops/runbooks/{alert}.md" for alert in ALERTS]
    for alert, page in pages.items():
        assert page.startswith(f"# {alert}\n"), alert
        for part in ("**What it means.**", "**What is at risk.**", "## How to look", "## What to do", "## When it is over"):
            assert part in page, f"{alert} lacks {part}"
        for link in re.findall(r"\]\((\w+)\.md\)", page):
            assert link in pages, f"{alert} links to {link}"


def test_each_metric_that_an_alert_a_runbook_or_a_panel_names_exists():
    table = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    table |= {f"{name}_{suffix}" for name in table if name.endswith("_seconds") for suffix in ("bucket", "sum", "count")}
    table |= {f"meter_dlq_audit_{name}" for name in ("success", "timestamp_seconds", "missing_reads", "different_reads")}
    files = [OPS / "alerts.yml", OPS / "grafana" / "meter-dlq.json", *(OPS / "runbooks").glob("*.md")]
    for file in files:
        named = set(re.findall(r"\b(?:meter_dlq|process)_[a-z_]+\b", file.read_text())) - {"meter_dlq_audit"}
        assert named <= table, f"{file.name}: {named - table}"


def test_each_panel_names_the_command_that_shows_the_same_at_a_shell():
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert len({panel["title"] for panel in panels}) == len(panels) > 20
    commands = r"meter-dlq (list|stats|audit|show|check|--version)\b|systemctl status meter-dlq|curl -s http://|ls /proc/"
    for panel in panels:
        assert re.search(rf"\n\nAt a shell: `({commands})[^`]*`$", panel["description"]), panel["title"]
