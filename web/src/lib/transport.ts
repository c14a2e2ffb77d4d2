// SPDX-License-Identifier: MIT
// The way to the daemon: WebSockets of the server that the page came from, or data channels of a tunnel (lib/tunnel.ts) where the loader has started the page.
// Both give the same object; nothing else of the console knows which it is.
import { token } from "./auth";
import { openChannel, tunnel } from "./tunnel";

/* What is used of a WebSocket. Text is text, everything else bytes. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((e: { data: string | ArrayBuffer }) => void) | null;
  onclose: ((e: { code: number; reason: string }) => void) | null;
  readonly isOpen: boolean;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
}

export type Purpose = "rpc" | "feed" | "term";

class WebLink implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string | ArrayBuffer }) => void) | null = null;
  onclose: ((e: { code: number; reason: string }) => void) | null = null;
  private readonly socket: WebSocket;

  constructor(path: string) {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}${path}`, ["muster", `token.${token()}`]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.onopen?.();
    this.socket.onmessage = (e) => this.onmessage?.({ data: e.data as string | ArrayBuffer });
    this.socket.onclose = (e) => this.onclose?.({ code: e.code, reason: e.reason });
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.socket.send(data);
  }

  close(): void {
    this.socket.close();
  }
}

/* A connection for one purpose; `query` says of what, as in an address. */
export function openSocket(purpose: Purpose, query = ""): Socket {
  if (tunnel) return openChannel(tunnel, purpose, query);
  return new WebLink(`/${purpose === "term" ? "term" : "rpc"}${query ? `?${query}` : ""}`);
}
