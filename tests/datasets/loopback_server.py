#!/usr/bin/env python3
"""A web server on loopback that misbehaves: loopback_server.py FOLDER

Prints its port, then serves FOLDER/NAME under /MODE/NAME until its standard input closes. The modes
are the methods of Handler below. `log` in FOLDER gets a line "MODE NAME RANGE" a request.
"""

import http.server
import pathlib
import sys
import threading
import time
import urllib.parse

FOLDER = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        _, mode, name = self.path.split("/", 2)
        wanted = self.headers.get("Range", "")
        with open(FOLDER / "log", "a") as log:
            log.write(f"{mode} {name} {wanted}\n")
        name = urllib.parse.unquote(name)
        self.body = (FOLDER / name).read_bytes() if (FOLDER / name).exists() else b""
        self.start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        try:
            getattr(self, mode)(name)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def head(self, length=None):
        """The headers for what is left of the body, which it returns."""
        if self.start >= len(self.body) > 0 and self.start > 0:
            self.send_error(416)
            return b""
        rest = self.body[self.start:]
        self.send_response(206 if self.start else 200)
        if self.start:
            self.send_header("Content-Range",
                             f"bytes {self.start}-{len(self.body) - 1}/{len(self.body)}")
        self.send_header("Content-Length", str(len(rest) if length is None else length))
        self.end_headers()
        return rest

    def good(self, name):
        self.wfile.write(self.head())

    def cut(self, name):
        """Closes after a third of what is left, but at least 1,000 bytes."""
        rest = self.head()
        self.wfile.write(rest[:max(1000, len(rest) // 3)])

    def stall(self, name):
        rest = self.head()
        self.wfile.write(rest[:100])
        self.wfile.flush()
        time.sleep(20)

    def trickle(self, name):
        """The last 1,500 bytes take 2.1 seconds, too few for a buffer of the client's to fill."""
        rest = self.head()
        self.wfile.write(rest[:-1500])
        for begin in range(len(rest) - 1500, len(rest), 50):
            time.sleep(0.07)
            self.wfile.write(rest[begin:begin + 50])

    def promises_more(self, name):
        self.wfile.write(self.head(length=len(self.body) - self.start + 10))

    def promises_less(self, name):
        self.wfile.write(self.head(length=len(self.body) - self.start - 10))

    def lead_to(self, address):
        self.send_response(302)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def redirect(self, name):
        self.lead_to(f"/good/{name}")

    def circle(self, name):
        self.lead_to(f"/circle/{name}")

    def to_a_file(self, name):
        self.lead_to(f"file://{FOLDER}/{name}")

    def to_ftp(self, name):
        self.lead_to(f"ftp://127.0.0.1:{server.server_address[1]}/{name}")

    def damaged(self, name):
        self.body = bytes([self.body[0] ^ 1]) + self.body[1:]
        self.good(name)

    def no_ranges(self, name):
        self.start = 0
        self.good(name)

    def endless(self, name):
        self.send_response(200)
        self.end_headers()
        end = time.time() + 10
        while time.time() < end:
            self.wfile.write(b"x" * 100_000)
            time.sleep(0.02)

    def missing(self, name):
        self.send_error(404)

    def drip(self, name):
        """Two bytes a second: never silent, never done."""
        rest = self.head()
        for begin in range(0, min(len(rest), 60), 2):
            self.wfile.write(rest[begin:begin + 2])
            self.wfile.flush()
            time.sleep(1)

    def another_range(self, name):
        """Continues from somewhere else than asked."""
        self.start = self.start and self.start - 1
        self.good(name)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
