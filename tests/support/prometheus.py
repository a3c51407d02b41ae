"""A real Prometheus that scrapes what the tests start, and what it knows."""

import json
import signal
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import servers

ROOT = Path(__file__).resolve().parents[2]


class Prometheus(servers.Server):
    """Scrapes `targets` ({job: [host:port]}) every second, with the rules of worker/ops."""

    name = "prometheus"
    stop_signal = discard_signal = signal.SIGTERM

    def __init__(self, folder, targets):
        super().__init__(folder)
        self.targets = targets
        self.port = self._port("port")

    def query(self, expression):
        """The series of an instant query: [({label: value}, text)]."""
        answer = self._get("query", query=expression)
        return [(series["metric"], series["value"][1]) for series in answer["result"]]

    def rules(self):
        """{alert: (health, last error)}."""
        rules = [rule for group in self._get("rules")["groups"] for rule in group["rules"]]
        return {rule["name"]: (rule["health"], rule.get("lastError")) for rule in rules}

    def up(self):
        """{job: whether its last scrape succeeded, and was understood}."""
        targets = self._get("targets")["activeTargets"]
        return {target["labels"]["job"]: target["health"] == "up" and not target["lastError"] for target in targets}

    def _get(self, what, **arguments):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{what} {arguments}: {error.read().decode()}") from None

    def _prepare(self):
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(ROOT / "worker/ops/alerts.yml")],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": targets}]} for job, targets in self.targets.items()],
        }
        self.config = self.folder / "prometheus.yml"
        self.config.write_text(json.dumps(config))  # which is YAML

    def _command(self):
        listen = f"--web.listen-address=127.0.0.1:{self.port}"
        return ["prometheus", f"--config.file={self.config}", f"--storage.tsdb.path={self.folder / 'data'}", listen]

    def _ready(self, _):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=1).status == 200
        except OSError:
            return False
