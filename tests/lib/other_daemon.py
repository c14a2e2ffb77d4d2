# SPDX-License-Identifier: MIT
"""Stand-ins for daemons that are not ours."""
import json
import os
import socket
import threading


def serve_version(path, version):
    """Something that answers at a native socket as a daemon of another version would; closing what this gives ends it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve():
        while True:
            try:
                conn, _ = listener.accept()
            except OSError:
                return
            with conn:
                if conn.recv(65536):
                    result = {"version": version, "pid": os.getpid(), "endpoints": [], "processes": [], "uptime_seconds": 1}
                    conn.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n")
    threading.Thread(target=serve, daemon=True).start()
    return listener
