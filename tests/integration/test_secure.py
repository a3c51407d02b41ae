"""The main flow over SASL_SSL with SCRAM and TLS to Postgres, with exactly the rights that README lists."""

import re

import psycopg
import pytest
from conftest import (
    ROOT,
    Names,
    bad,
    check_attempts,
    commit_live,
    compare_ledgers,
    create_topic,
    dead_letter,
    good,
    produce,
    read_key,
    refuse,
    wait_drained,
    wait_until,
)

README = (ROOT / "README.md").read_text()
ROLE_PASSWORD = "a password"  # with a blank, as conninfo must quote it


class DefaultNames(Names):
    group = "meter-dlq"


@pytest.fixture
def names():
    """README's list is for the default names."""
    return DefaultNames("meter-reads")


def readme_acls():
    (block,) = re.findall(r"<!-- acls:begin -->\n```sh\n(.*?)```\n<!-- acls:end -->", README, re.DOTALL)
    return block


def readme_grants():
    (block,) = re.findall(r"```sql\n(GRANT meter_read_writer .*?)```", README, re.DOTALL)
    return block


@pytest.fixture
def administrator(new_worker, secure_kafka, secure_postgres, names):
    """Who installs: may do everything."""
    create_topic(secure_kafka, names.source, 3)
    return new_worker(kafka=secure_kafka, postgres=secure_postgres, config={"group.id": names.group})


@pytest.fixture
def worker(administrator, new_worker, secure_kafka, secure_postgres, names, newer_librdkafka):
    """Who works: may do nothing yet."""
    secure_postgres.psql(f"CREATE ROLE meter_dlq LOGIN PASSWORD '{ROLE_PASSWORD}'")
    role = secure_postgres.conninfo(user="meter_dlq", dbname=names.database, password=ROLE_PASSWORD)
    return new_worker(
        kafka=secure_kafka,
        postgres=secure_postgres,
        user="meter-dlq",
        init=False,
        library_path=newer_librdkafka,
        config={"group.id": names.group, "sink.conninfo": role, "batch.max.records": 50},
    )


def check_says_what_is_missing(worker, secure_kafka, names):
    describe = "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:meter-dlq --topic {} --operation Describe"
    secure_kafka.create_acls(f"{describe.format(names.source)} --operation DescribeConfigs\n")  # Read is more, and implies Describe
    wrong = [line for line in worker.call("check", expect=[1]).stdout.splitlines() if line.startswith("NO ")]
    bootstrap = worker.config["kafka.bootstrap.servers"]
    for resource, operation in (
        (f"topic {names.source}", "Read"),
        (f"topic {names.dlq}", "Describe"),
        (f"topic {names.inbox}", "Describe"),
        (f"topic {names.parked}", "Describe"),
        (f"group {names.group}", "Read"),
    ):
        todo = f"kafka-acls.sh --bootstrap-server {bootstrap} --add --allow-principal User:meter-dlq --{resource} --operation {operation}"
        assert any(line.endswith(f": {todo}") for line in wrong), f"{todo}\n{wrong}"
    assert sum('GRANT meter_read_writer TO "meter_dlq"' in line for line in wrong) == 2


def test_with_the_rights_that_readme_lists_and_no_others_all_goes_its_way(
    administrator, worker, secure_kafka, secure_postgres, names
):
    def sql(text):
        return secure_postgres.psql(text, dbname=names.database)

    refused = worker.call("run", "--until-idle", expect=[2])
    assert "authorization failed" in refused.stderr.lower() and names.dlq in refused.stderr
    check_says_what_is_missing(worker, secure_kafka, names)
    secure_kafka.create_acls(readme_acls())
    sql(readme_grants())
    assert all(line.startswith("ok ") for line in worker.call("check").stdout.splitlines())
    refuse(sql)
    commit_live(sql, read_key(900), "1")
    produce(
        secure_kafka,
        names.source,
        good(range(300))
        + bad(range(10))
        + good([901], reason="permanent_4xx")
        + [dead_letter(None, "{"), dead_letter(read_key(900), '{"kwh": "2"}')],
    )
    running = [worker.start(), worker.start()]
    wait_until(lambda: all('"restored"' in one.log() for one in running), what="both to restore")
    running[0].kill()
    wait_drained(secure_kafka, names)
    assert running[1].terminate() == 0
    state, rows = compare_ledgers(worker, secure_kafka, secure_postgres, names)
    check_attempts(state)
    assert len(rows) == 301 and len(state.parked) == 13
    assert len(worker.list(parked=True)) == 13 and worker.list() == []

    # And no more than these rights.
    assert "authorization failed" in worker.put([(read_key(1), "{}")], expect=[2]).stderr.lower()
    with psycopg.connect(worker.config["sink.conninfo"]) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM meter_read")
    assert sql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_port > 0 AND NOT ssl") == "0"
