"""A schema registry of Confluent's API in a thread, with the answers that the real one gives; it can be away, slow or broken."""

import base64
import contextlib
import http.server
import json
import re
import ssl
import threading
import urllib.parse
import uuid

NOT_FOUND = {
    40401: "Subject '{}' not found.",
    40402: "Version {} not found.",
    40403: "Schema {} not found",
}
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class Registry:
    """`schemas[id]` is (text, type, references); `subjects[name]` the ids of its versions, the first being version 1."""

    def __init__(self, user=None, password=None, tls=None):
        self.user, self.password, self.tls = user, password, tls
        self.schemas, self.guids, self.subjects = {}, {}, {}
        self.incompatible = set()  # subjects
        self.requests = []  # "GET /schemas/ids/7"
        self.odd = {}  # path -> (status, body): instead of the answer
        self.delay = {}  # path -> threading.Event to wait for
        self.status = None  # for every request
        self.port = None
        self._server = None

    # --- its content

    def add(self, schema, kind="AVRO", references=(), number=None):
        number = number or len(self.schemas) + 1
        self.schemas[number] = (schema if isinstance(schema, str) else json.dumps(schema), kind, list(references))
        self.guids[str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))] = number
        return number

    def guid(self, number):
        return uuid.uuid5(uuid.NAMESPACE_OID, str(number))

    def add_version(self, subject, schema, **options):
        number = next((n for n, kept in self.schemas.items() if kept[0] == schema), None) or self.add(schema, **options)
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    # --- its life

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one packet an answer

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    registry._answer(self, json.loads(body) if body else None)

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            connections = set()

            def finish_request(self, request, address):
                self.connections.add(request)
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    super().finish_request(request, address)

        self._server = Server(("127.0.0.1", self.port or 0), Handler)
        self.port = self._server.server_address[1]
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        """Nobody listens any more, on the port that it comes back on."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            for connection in self._server.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(2)
        self._server = None

    # --- its answers

    def _answer(self, handler, body):
        path = handler.path.split("?")[0]
        self.requests.append(f"{handler.command} {handler.path}")
        if path in self.delay:
            self.delay[path].wait(30)
        if self.user and handler.headers.get("Authorization") != self._basic():
            return self._send(handler, 401, {"error_code": 401, "message": "Unauthorized"})
        if self.status:
            return self._send(handler, self.status, {"error_code": self.status, "message": "Internal Server Error"})
        if path in self.odd:
            return self._send(handler, *self.odd[path])
        return self._send(handler, *self._route(handler.command, path, body))

    def _basic(self):
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()

    def _send(self, handler, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", data.decode())
        handler.send_header("Content-Type", CONTENT_TYPE)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _missing(self, code, what=""):
        return 404, {"error_code": code, "message": NOT_FOUND[code].format(what)}

    def _described(self, number):
        text, kind, references = self.schemas[number]
        # As the real one does, it is silent about Avro and about references where there are none.
        return {"schema": text} | ({"schemaType": kind} if kind != "AVRO" else {}) | ({"references": references} if references else {})

    def _route(self, method, path, body):
        routes = [
            ("GET", r"/schemas/types", lambda: (200, ["JSON", "PROTOBUF", "AVRO"])),
            ("GET", r"/schemas/ids/(\d+)", lambda n: self._by_id(int(n))),
            ("GET", r"/schemas/guids/([0-9a-f-]+)", lambda guid: self._by_id(self.guids.get(guid))),
            ("GET", r"/subjects/([^/]+)/versions/(\d+|latest)", self._version),
            ("POST", r"/subjects/([^/]+)/versions", lambda s: (200, {"id": self.add_version(s, body["schema"])})),
            ("POST", r"/subjects/([^/]+)", lambda s: self._lookup(s, body["schema"])),
            ("POST", r"/compatibility/subjects/([^/]+)/versions/latest", self._compatible),
        ]
        for verb, pattern, answer in routes:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                return answer(*map(urllib.parse.unquote, match.groups()))
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _by_id(self, number):
        return (200, self._described(number)) if number in self.schemas else self._missing(40403, number)

    def _version(self, subject, version):
        versions = self.subjects.get(subject)
        if not versions:
            return self._missing(40401, subject)
        version = len(versions) if version == "latest" else int(version)
        if version > len(versions):
            return self._missing(40402, version)
        number = versions[version - 1]
        return 200, {"subject": subject, "version": version, "id": number, **self._described(number)}

    def _lookup(self, subject, schema):
        if subject not in self.subjects:
            return self._missing(40401, subject)
        for version, number in enumerate(self.subjects[subject], 1):
            if json.loads(self.schemas[number][0]) == json.loads(schema):
                return 200, {"subject": subject, "version": version, "id": number, "schema": schema}
        return self._missing(40403)

    def _compatible(self, subject):
        if subject not in self.subjects:
            return self._missing(40401, subject)
        if subject in self.incompatible:
            return 200, {"is_compatible": False, "messages": ["READER_FIELD_MISSING_DEFAULT_VALUE: at /fields/1"]}
        return 200, {"is_compatible": True}
