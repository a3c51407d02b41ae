"""Real servers for tests, demo and benchmark: one Kafka broker, one Postgres cluster, on free loopback ports.

Standard library only. Servers die with the Python process that started them, unless they are `detached`.
"""

import argparse
import atexit
import concurrent.futures
import json
import os
import pwd
import queue
import random
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


class ServerError(RuntimeError):
    pass


def wait_until(condition, timeout=30, what="the condition", interval=0.05):
    """Returns the first true value of condition(); raises TimeoutError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout} s for {what}")
        time.sleep(interval)


def free_port():
    """A port below the ephemeral range, so that no outgoing connection takes it while its server is down."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000):
        port = random.randrange(10240, low if low > 11000 else 65536)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerError("no free port on 127.0.0.1")


def make_certificates(folder):
    """A CA (ca.pem) and a certificate for localhost and 127.0.0.1 (server.pem, server.key), valid for two days."""
    folder.mkdir(parents=True, exist_ok=True)
    request = "openssl req -x509 -days 2 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1".split()
    for extra in (
        "-subj /CN=test-ca -keyout ca.key -out ca.pem",
        "-CA ca.pem -CAkey ca.key -subj /CN=localhost -keyout server.key -out server.pem"
        " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE",
    ):
        subprocess.run(request + extra.split(), cwd=folder, check=True, capture_output=True)


# --- processes -------------------------------------------------------------------------------------------------------

_requests = queue.SimpleQueue()


def _serve_requests():
    while True:
        reply, arguments, options = _requests.get()
        try:
            reply.put(subprocess.Popen(arguments, **options))
        except BaseException as error:
            reply.put(error)


_starter = threading.Thread(target=_serve_requests, daemon=True)
_starting = threading.Lock()


def popen(command, user=None, detached=False, **options):
    """subprocess.Popen in a session of its own, as `user` (of pwd); it dies with this process unless it is detached."""
    words = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []
    if not detached:
        words += ["--pdeathsig", "KILL"]
    if words:
        command = ["setpriv", *words, "--", *command]
    # The death signal follows the thread that forked, not its process: so one thread, which never ends, forks them all.
    with _starting:
        if not _starter.ident:
            _starter.start()
    reply = queue.SimpleQueue()
    _requests.put((reply, command, {"start_new_session": True, "stdin": subprocess.DEVNULL, **options}))
    result = reply.get()
    if isinstance(result, BaseException):
        raise result
    return result


def stat_of(pid):
    """(state, parent, start time) of a process, None when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1]), int(fields[19])


class Process:
    """A process by pid and start time: a pid that was given to another process since is never signalled."""

    def __init__(self, pid, born=None, popen=None):
        stat = stat_of(pid)
        self.pid, self.popen = pid, popen
        self.born = born if born is not None else stat and stat[2]

    def alive(self):
        if self.popen and self.popen.poll() is not None:
            return False
        stat = stat_of(self.pid)
        return bool(stat and stat[0] != "Z" and stat[2] == self.born)

    def signal(self, number):
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive():
                signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(fd)

    def wait(self, timeout):
        """True when it is gone within the time."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            if self.alive():
                poll = select.poll()
                poll.register(fd, select.POLLIN)
                poll.poll(timeout * 1000)
            return not self.alive()
        finally:
            os.close(fd)

    def children(self):
        pids = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
        return [Process(pid) for pid in pids if (stat := stat_of(pid)) and stat[1] == self.pid]


_running = set()


@atexit.register
def _kill_all():
    for server in list(_running):
        server._discard()


def _exit_on_signal():
    # Python skips atexit on these; a handler that someone else installed is left alone.
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda n, _: sys.exit(128 + n))


class Server:
    """What Kafka and Postgres share. All its state is in `folder`; an object made later on the same folder finds the server."""

    name = None
    stop_signal = discard_signal = None
    user = None

    def __init__(self, folder, detached=False):
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "log"
        self.detached = detached
        self.process = None
        self._state_file = self.folder / "state.json"
        self.state = json.loads(self._state_file.read_text()) if self._state_file.exists() else {}
        if "pid" in self.state:
            self.process = Process(self.state["pid"], self.state["born"])

    def _save(self, **changes):
        self.state.update(changes)
        self._state_file.write_text(json.dumps(self.state))

    def _port(self, which):
        if which not in self.state:
            self._save(**{which: free_port()})
        return self.state[which]

    @property
    def pid(self):
        return self.process.pid if self.running else None

    @property
    def running(self):
        return bool(self.process and self.process.alive())

    def start(self, timeout=60):
        """Starts the server and returns it when it is ready for clients."""
        if self.running:
            return self
        if not self.detached:
            _exit_on_signal()
        self._prepare()
        begin = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            child = popen(self._command(), user=self.user, detached=self.detached, stdout=log, stderr=log)
        self.process = Process(child.pid, popen=child)
        self._save(pid=child.pid, born=self.process.born)
        if not self.detached:
            _running.add(self)
        try:
            wait_until(lambda: self._ready(begin) or not self.running, timeout, f"{self.name} to be ready")
        except TimeoutError as error:
            raise ServerError(f"{error}\n{self.log_tail()}") from None
        if not self.running:
            raise ServerError(f"{self.name} exited while starting\n{self.log_tail()}")
        return self

    def stop(self, timeout=60):
        """Orderly shutdown."""
        if self.running:
            self.resume()
            self.process.signal(self.stop_signal)
            if not self.process.wait(timeout):
                self.kill()
                raise ServerError(f"{self.name} did not stop within {timeout} s\n{self.log_tail()}")
        _running.discard(self)

    def kill(self):
        """SIGKILL; returns when the server and what it forked are gone."""
        if self.running:
            self.process.signal(signal.SIGSTOP)  # so that it forks no more
            children = self.process.children()
            self.process.signal(signal.SIGKILL)
            self.process.wait(10)
            for child in children:
                child.signal(signal.SIGCONT)
                if not child.wait(10):
                    child.signal(signal.SIGKILL)
                    child.wait(10)
        _running.discard(self)

    def restart(self, timeout=60):
        """Stops it where it still runs, and starts it again on the same ports and data."""
        self.stop(timeout)
        return self.start(timeout)

    def pause(self):
        """SIGSTOP, its children's too: connections stay open and nothing answers."""
        if self.running:
            self.process.signal(signal.SIGSTOP)
            for child in self.process.children():
                child.signal(signal.SIGSTOP)

    def resume(self):
        if self.running:
            for child in self.process.children():
                child.signal(signal.SIGCONT)
            self.process.signal(signal.SIGCONT)

    def log_tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def _discard(self):
        """The end of throw-away data: fast, not orderly."""
        if self.running:
            self.resume()
            self.process.signal(self.discard_signal)
            self.process.wait(10)
        self.kill()

    def _prepare(self):
        raise NotImplementedError

    def _command(self):
        raise NotImplementedError

    def _ready(self, log_begin):
        raise NotImplementedError


# --- Kafka -----------------------------------------------------------------------------------------------------------


def kafka_version():
    pinned = re.search("<kafka.version>(.*)</kafka.version>", (HERE / "kafka-pom.xml").read_text())[1]
    return os.environ.get("KAFKA_VERSION") or pinned


def cache_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meter-dlq"


def java():
    """Debian's own before the first of PATH, which may be too old for Kafka 4."""
    return next(Path("/usr/lib/jvm").glob("java-17-openjdk-*/bin/java"), "java")


class Kafka(Server):
    """A single-node KRaft broker.

    `bootstrap` is a plaintext listener whose user is the super user. With secure=True there is also `secure_bootstrap`
    (SASL_SSL, SCRAM-SHA-512, the `users` by name and password), and nobody else may do what no ACL allows.
    `settings` are broker settings over the defaults below, read at every start; `jvm` are Java's options; `version` is
    another one than the pinned, installed by `KAFKA_VERSION=... tests/support/install servers`.
    """

    name = "kafka"
    stop_signal, discard_signal = signal.SIGTERM, signal.SIGKILL
    cluster_id = "bWV0ZXItZGxxLXRlc3RzMA"

    defaults = {
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        # After a SIGKILL the broker may register again only when its old session has ended.
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": 500,
        "log.retention.check.interval.ms": 1000,
        "log.segment.delete.delay.ms": 1000,
        "num.io.threads": 4,
        "num.network.threads": 2,
        "controlled.shutdown.max.retries": 1,
    }
    # C1 alone and the serial collector: what lives for seconds or minutes spends its time on starting.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
    jvm_defaults = ("-Xms256m", "-Xmx512m", *quick)

    scram_login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    tools = {
        "acls": "org.apache.kafka.tools.AclCommand",
        "configs": "kafka.admin.ConfigCommand",
        "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
        "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
        "topics": "org.apache.kafka.tools.TopicCommand",
        "transactions": "org.apache.kafka.tools.TransactionsCommand",
    }

    def __init__(self, folder, settings=None, secure=False, users=None, jvm=None, version=None, detached=False):
        super().__init__(folder, detached)
        self.settings = dict(settings or {})
        self.users = dict(users or {"meter-dlq": "meter-dlq-password"})
        self.jvm = tuple(jvm or self.jvm_defaults)
        self.secure = self.state.get("secure", secure)
        self._save(secure=self.secure)
        self.port, self._controller_port = self._port("port"), self._port("controller_port")
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.secure_bootstrap = f"localhost:{self._port('secure_port')}" if self.secure else None
        self.tls = self.folder / "tls"
        self.ca = self.tls / "ca.pem"
        self.version = version or kafka_version()
        self.jars = cache_folder() / f"kafka-{self.version}"

    def client_config(self, user=None):
        """Settings of librdkafka for a client: the super user, or one of the `users` over SASL_SSL."""
        if user is None:
            return {"bootstrap.servers": self.bootstrap}
        return {
            "bootstrap.servers": self.secure_bootstrap,
            "broker.address.family": "v4",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.ca),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": self.users[user],
        }

    def kafka_tool(self, tool, *arguments, check=True, timeout=60):
        """Runs a stock tool as the super user, by the name of its script without `kafka-`; returns what it printed."""
        main = "kafka.admin.AclCommand" if tool == "acls" and self.version.startswith("3.") else self.tools[tool]
        command = [*self._java("warn", "-Xmx128m", *self.quick), main, "--bootstrap-server", self.bootstrap, *map(str, arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        # Some tools print an error to stdout and exit 0.
        if check and (done.returncode or done.stdout.lstrip().startswith("Error")):
            raise ServerError(f"kafka-{tool} {shlex.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        return done.stdout

    def create_acls(self, text):
        """ACLs from lines of arguments for kafka-acls; a script's name and connection in front of them are dropped."""
        lines = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(self._create_acl, filter(None, lines)))

    def _create_acl(self, words):
        while words and not words[0].startswith("-"):
            words = words[1:]
        for option in ("--bootstrap-server", "--command-config"):
            if option in words:
                at = words.index(option)
                words = words[:at] + words[at + 2 :]
        self.kafka_tool("acls", *([] if "--add" in words else ["--add"]), *words)

    def _java(self, level, *options):
        if not (self.jars / "complete").exists():
            raise ServerError(f"no Kafka in {self.jars}: run tests/support/install")
        logging = {"defaultLogLevel": level, "showDateTime": "true", "dateTimeFormat": "HH:mm:ss.SSS"}
        # Both dump hundreds of settings at every start.
        logging |= {f"log.{name}": "warn" for name in ("org.apache.kafka.common.config.AbstractConfig", "kafka.server.KafkaConfig")}
        properties = [f"-Dorg.slf4j.simpleLogger.{k}={v}" for k, v in logging.items()]
        return [java(), *options, *properties, "-cp", f"{self.jars}/*"]

    def _prepare(self):
        if self.secure and not self.ca.exists():
            make_certificates(self.tls)
            pem = (self.tls / "server.key").read_text() + (self.tls / "server.pem").read_text()
            (self.tls / "keystore.pem").write_text(pem)
        properties = self.defaults | self._listeners() | self.settings
        self.config = self.folder / "server.properties"
        self.config.write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
        if not (self.folder / "data" / "meta.properties").exists():
            self._format()

    def _listeners(self):
        listeners = f"PLAINTEXT://{self.bootstrap}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "log.dirs": self.folder / "data",
        }
        if self.secure:
            listeners += f",SASL_SSL://{self.secure_bootstrap}"
            properties |= {
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
                "sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{self.scram_login} required;",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": self.tls / "keystore.pem",
            }
        return properties | {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": listeners,
        }

    def _format(self):
        command = [*self._java("warn", *self.quick), "kafka.tools.StorageTool", "format"]
        command += ["--cluster-id", self.cluster_id, "--config", self.config]
        if self.secure:
            for user, password in self.users.items():
                command += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ServerError(f"Kafka's storage was not formatted: {done.stdout}{done.stderr}")

    def _command(self):
        return [*self._java("info", *self.jvm), "kafka.Kafka", self.config]

    def _ready(self, log_begin):
        with open(self.log, "rb") as log:
            log.seek(log_begin)
            return b"Kafka Server started" in log.read()


# --- Postgres --------------------------------------------------------------------------------------------------------


def _postgres_binaries():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise ServerError("no Postgres server in /usr/lib/postgresql: run tests/support/install")
    return found[-1].parent


def _unprivileged_user():
    """Postgres refuses to run as root."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServerError("neither a user postgres nor nobody to run Postgres as")


class Postgres(Server):
    """A temporary cluster with the super user `postgres`.

    Listens on 127.0.0.1 and on a socket in its folder. With ssl=True, TCP takes only TLS and passwords (`password` for
    the super user), the socket trusts. `settings` are server settings, read at every start.
    """

    name = "postgres"
    stop_signal, discard_signal = signal.SIGINT, signal.SIGQUIT

    def __init__(self, folder, settings=None, ssl=False, password="postgres-password", detached=False):
        super().__init__(folder, detached)
        self.settings = dict(settings or {})
        self.ssl = self.state.get("ssl", ssl)
        self.password = self.state.get("password", password)
        self._save(ssl=self.ssl, password=self.password)
        self.port = self._port("port")
        self.data = self.folder / "data"
        self.ca = self.folder / "tls" / "ca.pem"
        self.bin = _postgres_binaries()
        self.user = _unprivileged_user()

    def conninfo(self, user="postgres", dbname="postgres", socket=False, password=None):
        """A libpq connection string, by TCP or through the socket."""
        words = {"host": self.folder if socket else "127.0.0.1", "port": self.port, "user": user, "dbname": dbname}
        if self.ssl and not socket:
            words |= {"sslmode": "verify-full", "sslrootcert": self.ca, "password": password or self.password}
        return " ".join(f"{k}='{v}'" if " " in str(v) else f"{k}={v}" for k, v in words.items())

    def psql(self, sql, dbname="postgres", check=True, timeout=60):
        """Runs SQL as the super user; returns the rows as text, fields separated by `|`."""
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(dbname=dbname, socket=True)]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode:
            raise ServerError(f"psql: {done.stderr.strip()}\n{sql}")
        return done.stdout.strip()

    def crash(self):
        """The postmaster dies by SIGKILL; start() then recovers from the log."""
        self.kill()

    def _prepare(self):
        if not (self.data / "PG_VERSION").exists():
            self._create()
        # Postgres takes a killed postmaster for alive for as long as init has not reaped it.
        for lock in (self.data / "postmaster.pid", self.folder / f".s.PGSQL.{self.port}.lock"):
            lock.unlink(missing_ok=True)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 60,
            "log_line_prefix": "%m [%p] %q%u@%d ",
            "timezone": "UTC",
            "ssl": "on" if self.ssl else "off",
        }
        if self.ssl:
            settings |= {"ssl_cert_file": self.folder / "tls/server.pem", "ssl_key_file": self.folder / "tls/server.key"}
        settings |= self.settings
        (self.data / "postgresql.conf").write_text("".join(f"{k} = '{v}'\n" for k, v in settings.items()))

    def _create(self):
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
            self.folder.chmod(0o755)
            if self._run(["test", "-x", self.folder]).returncode:
                raise ServerError(f"the user {self.user.pw_name} may not enter {self.folder}: choose a folder that others may enter")
        shutil.rmtree(self.data, ignore_errors=True)
        initdb = [self.bin / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        done = self._run(initdb)
        if done.returncode:
            raise ServerError(f"initdb: {done.stdout}{done.stderr}")
        if self.ssl:
            self._require_tls()

    def _require_tls(self):
        make_certificates(self.ca.parent)
        key = self.ca.parent / "server.key"
        if self.user:
            os.chown(key, self.user.pw_uid, self.user.pw_gid)
        key.chmod(0o600)
        (self.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        set_password = f"ALTER USER postgres PASSWORD '{self.password}'\n"
        single_user = [self.bin / "postgres", "--single", "-D", self.data, "postgres"]
        self._run(single_user, input=set_password, check=True)

    def _run(self, command, **options):
        ids = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        return subprocess.run(command, cwd="/", capture_output=True, text=True, **ids, **options)

    def _command(self):
        return [self.bin / "postgres", "-D", self.data]

    def _ready(self, _):
        probe = [self.bin / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port), "-U", "postgres"]
        return subprocess.run(probe).returncode == 0


# --- command line ----------------------------------------------------------------------------------------------------

def _servers(folder):
    return {"kafka": Kafka(folder / "kafka", detached=True), "postgres": Postgres(folder / "postgres", detached=True)}


def _write_env(folder, servers):
    values = {
        "KAFKA_BOOTSTRAP": servers["kafka"].bootstrap,
        "KAFKA_PID": servers["kafka"].pid or "",
        "PG_CONNINFO": servers["postgres"].conninfo(),
        "POSTGRES_PID": servers["postgres"].pid or "",
    }
    (folder / "env").write_text("".join(f"{k}={shlex.quote(str(v))}\n" for k, v in values.items()))


def _up(servers):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starts = [pool.submit(server.start) for server in servers.values()]
    if failures := [start.exception() for start in starts if start.exception()]:
        for server in servers.values():
            server.kill()
        raise failures[0]


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="servers", description="A real Kafka and a real Postgres, with all they keep in DIR.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, text):
        sub = commands.add_parser(name, help=text)
        sub.add_argument("folder", metavar="DIR", type=Path)
        return sub

    command("up", "start both in the background and write DIR/env")
    command("down", "stop both")
    for name in ("start", "stop", "kill", "pause", "resume"):
        command(name, f"{name} one of them").add_argument("server", choices=("kafka", "postgres"))
    tool = command("tool", "run a stock tool of Kafka as the super user")
    tool.add_argument("tool", choices=Kafka.tools)
    tool.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def main(arguments):
    options = _parse(arguments)
    try:
        servers = _servers(options.folder)
        if options.command == "tool":
            print(servers["kafka"].kafka_tool(options.tool, *options.arguments), end="")
            return
        if options.command == "up":
            _up(servers)
        elif options.command == "down":
            for server in servers.values():
                server.stop()
        else:
            getattr(servers[options.server], options.command)()
        _write_env(options.folder, servers)
    except (ServerError, TimeoutError) as error:
        sys.exit(f"servers: {error}")
