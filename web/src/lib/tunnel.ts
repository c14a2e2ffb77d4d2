// SPDX-License-Identifier: MIT
// The console's side of a tunnel. The loader (src/connect) has opened it, opens it again when it was lost, and hands out channels; here a channel becomes what the
// rest takes for a WebSocket (docs/tunnel-wire.md). The loader may be older than this console: `Tunnel` is all that the two have in common, and `version` counts it.
import type { Purpose, Socket } from "./transport";

export interface Tunnel {
  readonly version: 1;
  readonly state: "connecting" | "live" | "lost" | "over";
  readonly proof: { session: string; name: string; scope: string };
  onstate(listener: () => void): void;
  /* null while the connection is lost. */
  channel(label: string): RTCDataChannel | null;
  /* A command of coop; null: the connection ended first. */
  command(request: object): Promise<Record<string, unknown> | null>;
  /* An embedded file of the daemon. */
  text(path: string): Promise<string>;
  retry(): void;
  end(): void;
}

export const tunnel = (globalThis as { musterTunnel?: Tunnel }).musterTunnel ?? null;

const MESSAGE_MAX = 262144; /* of one message of a data channel */
const AHEAD_MAX = 1 << 20; /* bytes that the browser holds; what is more waits here */
const LOST = 1006;
const LEAVES = 1001; /* the tunnel was closed, or the daemon stops: another one has no such tunnel */

class Channel implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string | ArrayBuffer }) => void) | null = null;
  onclose: ((e: { code: number; reason: string }) => void) | null = null;
  private parts: Uint8Array[] = [];
  private waiting: (string | Uint8Array<ArrayBuffer>)[] = [];
  private code = LOST;
  private reason = "";
  private isOver = false;
  private readonly channel: RTCDataChannel | null;

  constructor(private readonly to: Tunnel, private readonly purpose: Purpose, first: string) {
    const channel = to.channel(`muster-${purpose}`);
    this.channel = channel;
    if (!channel) {
      queueMicrotask(() => this.over());
      return;
    }
    channel.bufferedAmountLowThreshold = AHEAD_MAX / 2;
    channel.onbufferedamountlow = () => this.flush();
    channel.onopen = () => {
      if (first) channel.send(first);
      this.onopen?.();
    };
    channel.onmessage = (e) => this.message(e.data as string | ArrayBuffer);
    channel.onclose = () => this.over();
  }

  get isOpen(): boolean {
    return !this.isOver && this.channel?.readyState === "open";
  }

  private over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.waiting = [];
    this.onclose?.({ code: this.code, reason: this.reason });
  }

  private message(data: string | ArrayBuffer): void {
    if (typeof data === "string") this.text(data);
    else if (this.purpose === "term") this.onmessage?.({ data });
    else this.parts.push(new Uint8Array(data));
  }

  /* What is longer than a message came in parts before. The word before the end is what a WebSocket has as its close code. */
  private text(data: string): void {
    const text = this.parts.length ? this.joined(data) : data;
    if (text.startsWith('{"close":')) {
      const { close, reason } = JSON.parse(text) as { close: number; reason?: string };
      this.code = close;
      this.reason = reason ?? "";
      if (close === LEAVES) this.to.end();
    } else this.onmessage?.({ data: text });
  }

  private joined(last: string): string {
    const decoder = new TextDecoder();
    const text = this.parts.map((p) => decoder.decode(p, { stream: true })).join("") + decoder.decode() + last;
    this.parts = [];
    return text;
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.waiting.push(...(typeof data === "string" ? cut(data) : [data]));
    this.flush();
  }

  private flush(): void {
    while (this.isOpen && this.waiting.length && (this.channel as RTCDataChannel).bufferedAmount < AHEAD_MAX) {
      const data = this.waiting.shift()!;
      /* The two forms are told apart for the types of send(). */
      if (typeof data === "string") this.channel?.send(data);
      else this.channel?.send(data);
    }
  }

  close(): void {
    this.isOver = true;
    this.channel?.close();
  }
}

/* Parts of a text that is too long for one message: bytes first, text at the end, which begins with a character. */
export function cut(text: string): (string | Uint8Array<ArrayBuffer>)[] {
  if (text.length * 3 <= MESSAGE_MAX) return [text];
  const bytes = new TextEncoder().encode(text);
  const out: (string | Uint8Array<ArrayBuffer>)[] = [];
  let at = 0;
  while (bytes.length - at > MESSAGE_MAX) {
    let end = at + MESSAGE_MAX;
    while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
    out.push(bytes.slice(at, end));
    at = end;
  }
  out.push(new TextDecoder().decode(bytes.subarray(at)));
  return out;
}

export function openChannel(to: Tunnel, purpose: Purpose, query: string): Socket {
  return new Channel(to, purpose, purpose === "term" ? `/term?${query}` : "");
}
