#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kind of client that the bar of ping beside the original was set with: one connection, blocking, in Python.

  ping-client.py serial|pipe SECONDS SOCKET

serial has one ping in flight, pipe writes 500 at once and waits for all answers. Prints rate=N. It sends and receives with one
call each and waits in none between, so it takes less of a shared core than uds-load, which has an epoll_wait(2) per answer.
"""
import socket
import sys
import time

PING = b'{"jsonrpc":"2.0","method":"ping","params":{},"id":1}\n'
BATCH = 500


def answers(connection, n):
    """Waits for n lines. A buffer beyond 128 KiB would be mapped and unmapped by the C library for every one."""
    while n:
        data = connection.recv(65536)
        if not data:
            sys.exit("ping-client: the server closed the connection")
        n -= data.count(b"\n")


def main():
    mode, seconds, address = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    at_once = BATCH if mode == "pipe" else 1
    turns, request, count = BATCH // at_once, PING * at_once, 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        begin = now = time.perf_counter()
        while now < begin + seconds:
            for _ in range(turns):
                connection.sendall(request)
                answers(connection, at_once)
            count += BATCH
            now = time.perf_counter()
    print("rate=%.0f" % (count / (now - begin)))


main()
