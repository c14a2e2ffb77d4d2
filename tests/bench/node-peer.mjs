// SPDX-License-Identifier: MIT
// The least that a JSON-RPC daemon on Node can do: lines in, JSON parsed, one answer each. The original of the AIWG contract runs
// on Node and does more, so whoever is so many times faster than this is it against the original, too. node-peer.mjs SOCKET
import net from 'node:net';

const server = net.createServer((socket) => {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.on('data', (data) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, method } = JSON.parse(line);
      const result = method === 'ping' ? { pong: true, uptime: process.uptime(), pid: process.pid } : null;
      socket.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
    }
  });
});
server.listen(process.argv[2]);
process.on('SIGTERM', () => process.exit(0));
