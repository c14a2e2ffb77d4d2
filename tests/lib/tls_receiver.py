# SPDX-License-Identifier: MIT
"""A receiver of webhooks that speaks TLS, with certificates made on the spot by openssl(1)."""
import os
import ssl
import subprocess

from aiwg_rules import Receiver


class Authority:
    """A certificate authority in a folder; path is the file with its certificate."""

    def __init__(self, folder):
        self.folder = folder
        self.path, self.key = os.path.join(folder, "ca.pem"), os.path.join(folder, "ca.key")
        _openssl("req", "-x509", *_new_key(self.key), "-out", self.path, "-days", "2", "-subj", "/CN=test authority",
                 "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")

    def context(self, names, days=2):
        """For a server with a certificate for these names: DNS:localhost, IP:127.0.0.1. days < 0: it has expired."""
        stem = os.path.join(self.folder, "server%d" % len(os.listdir(self.folder)))
        extensions = stem + ".ext"
        with open(extensions, "w", encoding="ascii") as f:
            f.write("subjectAltName=%s\n" % names)
        _openssl("req", *_new_key(stem + ".key"), "-out", stem + ".csr", "-subj", "/CN=server")
        _openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.path, "-CAkey", self.key, "-set_serial", str(os.getpid()), "-out", stem + ".pem",
                 "-days", str(days), "-extfile", extensions)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(stem + ".pem", stem + ".key")
        return context


class TlsReceiver(Receiver):
    def __init__(self, context, **kw):
        super().__init__(context=context, **kw)
        self.url = self.url.replace("http://", "https://")


def _new_key(path):
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path]


def _openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
