"""Texts of the web: from public addresses and named servers alone, within size and time."""
import datetime
import ipaddress
import json
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from registry import public_web
from registry.errors import InvalidInputError
from registry.public_web import PublicWeb, is_public, raw_address

PAGES = {
    "/job.yaml": (200, {}, b"type: job\n"), "/bom": (200, {}, b"\xef\xbb\xbfa: b\n"),
    "/v1.json": (200, {}, json.dumps({"jobName": "old", "image": "busybox:1", "taskRoles": [
        {"name": "main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100,
         "command": "echo v1"}]}).encode()),
    "/large": (200, {}, b"#" * 256_001), "/bytes": (200, {}, b"\xff\xfe\x00"),
    "/page": (200, {"Content-Type": "text/html; charset=utf-8"}, b"<p>"),
    "/moved": (302, {"Location": "/job.yaml"}, b""), "/round": (302, {"Location": "/round"}, b""),
    "/in": (302, {"Location": "https://10.0.0.1/job.yaml"}, b""),
    "/local": (301, {"Location": "http://127.0.0.1:22/"}, b""),
    "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    "/cut": (200, {"Content-Length": "100"}, b"type: job\n"), "/broken": (500, {}, b"")}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Host"]))
        if self.path == "/slow":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n")
            self.server.is_over.wait(60)
            return
        status, headers, body = PAGES.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serving(context=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    server.asked, server.is_over = [], threading.Event()
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server():
    with serving() as server:
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server


def test_a_text_comes_as_it_is(server):
    web = PublicWeb([server.url])
    assert web.text(f" {server.url}/job.yaml#L3 ") == "type: job\n"
    assert web.text(f"{server.url}/bom") == "a: b\n"
    assert web.text(f"{server.url}/moved") == "type: job\n"


@pytest.mark.parametrize("path, words", [
    ("large", "larger than 256 kB"), ("bytes", "no text in UTF-8"), ("page", "to a web page"),
    ("round", "without end"), ("none", "HTTP status 404"), ("broken", "HTTP status 500"),
    ("cut", "breaks off"), ("in", "is not on the public web"), ("local", "begin with https://"),
    ("file", "is no address of the web")])
def test_what_is_no_such_text_says_why(server, path, words):
    with pytest.raises(InvalidInputError, match=words):
        PublicWeb([server.url]).text(f"{server.url}/{path}")


@pytest.mark.parametrize("address, words", [
    ("", "no address"), ("job.yaml", "no address"), ("ftp://example.org/x", "no address"),
    ("file:///etc/passwd", "no address"), ("https://[::1", "no address"),
    ("https://example.org:x/", "no address"), ("http://example.org/x", "begin with https://"),
    ("https://example.org:22/x", "begin with https://"),
    ("https://ann:secret@example.org/x", "holds a login"),
    ("https://localhost/x", "not on the public web"), ("https://0/x", "not on the public web"),
    ("https://2130706433/x", "not on the public web"),
    ("https://[::ffff:10.0.0.1]/x", "not on the public web"),
    ("https://169.254.169.254/latest/meta-data", "not on the public web")])
def test_what_is_not_asked_says_why(address, words):
    with pytest.raises(InvalidInputError, match=words) as refusal:
        PublicWeb().text(address)
    assert "secret" not in refusal.value.message


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "224.0.0.1", "255.255.255.255", "168.63.129.16", "192.0.0.192", "::1", "::",
    "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::a00:1",
    "2002:7f00:1::", "2001:0:7f00:1::"])
def test_an_address_that_not_everybody_reaches_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700:4700::1111",
                                     "::ffff:93.184.216.34", "64:ff9b::5db8:d822"])
def test_an_address_that_everybody_reaches_is_public(address):
    assert is_public(address)


def test_one_private_address_among_public_ones_is_enough_to_refuse():
    web = PublicWeb(resolve=lambda host, port: ("93.184.216.34", "127.0.0.1"))
    with pytest.raises(InvalidInputError, match="not on the public web"):
        web.text("https://example.org/job.yaml")


def test_a_name_is_looked_up_once_and_the_connection_goes_where_it_was_then(server):
    asked = []

    def resolve(host, port):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]
    named = f"http://files.example:{server.server_port}"
    assert PublicWeb([named], resolve=resolve).text(f"{named}/job.yaml") == "type: job\n"
    assert asked == ["files.example"]
    assert server.asked == [("/job.yaml", f"files.example:{server.server_port}")]


def test_who_does_not_end_is_ended(server, monkeypatch):
    monkeypatch.setattr(public_web, "TOTAL_S", 0.2)
    with pytest.raises(InvalidInputError, match="took longer than"):
        PublicWeb([server.url]).text(f"{server.url}/slow")


def test_over_https_the_server_proves_its_name(tmp_path, monkeypatch):
    with serving(certified(tmp_path, "files.example")) as server:
        names = ["files.example", "other.example"]
        named = [f"https://{name}:{server.server_port}" for name in names]
        web = PublicWeb(named, resolve=lambda host, port: ["127.0.0.1"])
        with pytest.raises(InvalidInputError, match="cannot prove that it is files.example"):
            web.text(f"{named[0]}/job.yaml")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert web.text(f"{named[0]}/job.yaml") == "type: job\n"
        with pytest.raises(InvalidInputError, match="cannot prove that it is other.example"):
            web.text(f"{named[1]}/job.yaml")


def certified(folder, name):
    """The TLS of a server with a certificate of its own, which lies in the folder as cert.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime.datetime(2020, 1, 1)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(
        key.public_key()).serial_number(1).not_valid_before(begin).not_valid_after(
            begin.replace(year=2090)).add_extension(x509.SubjectAlternativeName([
                x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
                critical=False).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize("address, file", [
    ("https://github.com/acme/jobs/blob/main/a/job.yaml?plain=1#L3",
     "https://raw.githubusercontent.com/acme/jobs/main/a/job.yaml"),
    ("https://github.example/acme/jobs/blob/v1/job.yaml",
     "https://github.example/acme/jobs/raw/v1/job.yaml"),
    ("https://gitlab.com/a/b/c/-/blob/main/job.yaml",
     "https://gitlab.com/a/b/c/-/raw/main/job.yaml"),
    ("https://gist.github.com/ann/0123abcd", "https://gist.github.com/ann/0123abcd/raw"),
    ("https://example.org/blob/job.yaml?x=1", "https://example.org/blob/job.yaml?x=1")])
def test_a_page_that_shows_a_file_means_the_file(address, file):
    assert raw_address(address) == file
