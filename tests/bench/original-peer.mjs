// SPDX-License-Identifier: MIT
// The socket server of the AIWG contract's original, with its answer to ping and nothing else running beside it: what it can do
// at best. The original is not part of this tree; SERVER is the path of its ipc-server.mjs. original-peer.mjs SERVER SOCKET
import { pathToFileURL } from 'node:url';

const { IPCServer } = await import(pathToFileURL(process.argv[2]).href);
const server = new IPCServer(process.argv[3]);
server.registerMethod('ping', () => ({ pong: true, timestamp: new Date().toISOString() }));
process.on('SIGTERM', () => process.exit(0));
await server.start();
