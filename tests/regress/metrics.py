# SPDX-License-Identifier: MIT
"""GET /metrics: the text form of Prometheus, read strictly. An exporter whose text one parser forgave broke another one's scrape (docs/metrics.md)."""
import re

from checks import check, equal, eventually
from fake_agents import Fake, native
from harness import Daemon, shared
from transcripts import File, claude_line
from web_door import Door, device_of

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(r"(%s)(?:\{(%s(?:,%s)*)\})? (-?[0-9.e+-]+)$" % (NAME, LABEL, LABEL))


def parse(text):
    """(name, labels) -> value; help and type once for each family, before its samples, which stand together."""
    check(text.endswith("\n"), "the last line has no end")
    samples, family, seen = {}, None, set()
    lines = text.split("\n")[:-1]
    for i, line in enumerate(lines):
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            check(family not in seen and re.fullmatch(NAME, family) and len(line.split(" ", 3)[3]) > 3, line)
            seen.add(family)
            check(re.fullmatch(r"# TYPE %s (counter|gauge)" % family, lines[i + 1]), lines[i + 1])
            counter = lines[i + 1].endswith(" counter")
            equal(family.endswith("_total"), counter, family)
        elif not line.startswith("# TYPE "):
            found = SAMPLE.match(line)
            check(found and found.group(1) == family, line)
            key = (family, found.group(2) or "")
            check(key not in samples, line)
            samples[key] = float(found.group(3))
            check(not counter or samples[key] >= 0, line)
    return samples


def test_the_text_form():
    d = shared()
    with Fake(d, "claude", name="metric") as fake:
        file = File(fake)
        file.write(claude_line("msg_m", 77, model="odd{model},x=1", fresh=1, cached=2, written=3))
        file.hook()
        fake.do("prompt x")
        eventually(lambda: 'model="odd' in native(d, "daemon.metrics")["text"])
        answer = native(d, "daemon.metrics")
        samples = parse(answer["text"])
        equal(answer["type"], "text/plain; version=0.0.4; charset=utf-8")
        odd = {labels: n for (name, labels), n in samples.items() if name == "muster_tokens_total" and "odd" in labels}
        equal(sorted(odd.values()), [1, 2, 3, 77])
        check(all('model="odd{model},x=1"' in labels and 'runtime="claude"' in labels for labels in odd), odd)
        check(samples[("muster_processes", 'owner="sessions",state="running"')] >= 1 and samples[("muster_agents", 'state="working"')] >= 1, samples)
        check(samples[("muster_ledger_commits_total", "")] >= 1 and samples[("muster_connections", "")] >= 1, samples)


def test_over_http():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Door(d) as door:
        look = device_of(d, scope="view")[0]
        native(d, "fleet.start", name="x", command=["cat"], workspace=d.home.base, sandbox="none")
        one = device_of(d, scope="control", object="session:x")[0]
        for token in (door.token, look):
            reply = door.ask("GET", "/metrics", token=token)
            equal((reply.status, reply.headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            check(("muster_info", 'version="%s"' % native(d, "daemon.info")["version"]) in parse(reply.body.decode()), reply.body)
        check(door.ask("GET", "/metrics").status in (401, 403), "without a token")
        check(door.ask("GET", "/metrics", token=one).status in (401, 403), "a token for one thing")
        equal(door.ask("POST", "/metrics", token=door.token).status, 405)


def test_at_the_native_socket():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d:
        import socket  # pylint: disable=import-outside-toplevel
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(d.home.native_sock)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            data = b""
            while True:
                more = s.recv(65536)
                if not more:
                    break
                data += more
        head, _, body = data.partition(b"\r\n\r\n")
        check(head.startswith(b"HTTP/1.1 200"), head)
        parse(body.decode())
