// SPDX-License-Identifier: MIT
// One terminal over one connection. It knows the position of the last byte that was drawn and asks for what is behind it after any break, so that nothing is
// drawn twice; it says how far it has drawn, so that a flood waits in the daemon and not in the page. What is drawn with is not its business.
import { signal } from "@preact/signals";
import { refusal } from "./auth";
import { Backoff, onWake } from "./backoff";
import { openSocket, type Socket } from "./transport";
import { tunnel } from "./tunnel";

const ACK_BYTES = 128 * 1024;
/* When the first byte of a terminal came to this page: what the bench asks for. */
const FIRST_BYTE = "muster:first-byte";

export interface TermState {
  link: "connecting" | "live" | "lost" | "over";
  cols: number;
  rows: number;
  isOwner: boolean;
  missed: number;
  restarting: boolean;
  exitCode: number | null;
  ended: boolean;
  viewers: number;
  canType: boolean;
  error: string;
}

interface Opened {
  at: number;
  head?: number;
  process?: string;
  cols?: number;
  rows?: number;
  owner?: boolean;
  writer?: boolean;
  viewers?: number;
  screen?: number;
}

interface TermEvent {
  event: string;
  dropped?: number;
  cols?: number;
  rows?: number;
  owner?: boolean;
  code?: number;
  viewers?: number;
}

/* Where the bytes go. */
export interface TermSink {
  /* `isOld`: it was printed before this connection looked; nobody answers its questions. `done` when it has been drawn. */
  draw(bytes: Uint8Array, isOld: boolean, done: () => void): void;
  /* Some of it is not there any more: what follows begins with a screen. */
  jump(missed: number): void;
  resized(cols: number, rows: number): void;
}

export interface TermOptions {
  id: string;
  mode: "watch" | "type";
  filter: boolean;
  size: () => { cols: number; rows: number };
}

export class TermLink {
  readonly state = signal<TermState>({ link: "connecting", cols: 0, rows: 0, isOwner: false, missed: 0, restarting: false, exitCode: null, ended: false, viewers: 0, canType: true, error: "" });
  /* Behind the last byte that was drawn; null before the first answer. */
  readonly position = signal<number | null>(null);
  private socket: Socket | null = null;
  private received = 0;
  private liveFrom = 0;
  private process = "";
  /* So many bytes of a screen are still to come: a position inside of it means nothing. */
  private screenLeft = 0;
  private acked = 0;
  /* The count has jumped: acknowledgements that were under way are not understood, so the next one is due as soon as something is drawn. */
  private owesAck = false;
  private keys = new Map<number, (isTaken: boolean) => void>();
  private lastKey = 0;
  private isClosed = false;
  private readonly again = new Backoff(() => this.open());
  /* Nobody sees a page in the background: somebody else's window may decide the size. */
  private readonly tellHidden = () => this.say({ hidden: document.hidden });

  constructor(private readonly options: TermOptions, private readonly sink: TermSink) {
    onWake(() => {
      if (!this.isClosed && !document.hidden && this.again.isWaiting) this.again.now();
    });
    document.addEventListener("visibilitychange", this.tellHidden);
    this.open();
  }

  private set(change: Partial<TermState>): void {
    this.state.value = { ...this.state.value, ...change };
  }

  private open(): void {
    if (this.isClosed || refusal.peek()) return;
    const { cols, rows } = this.options.size();
    const query = new URLSearchParams({ id: this.options.id, mode: this.options.mode, cols: String(cols), rows: String(rows) });
    if (this.position.peek() !== null && this.screenLeft === 0) {
      query.set("after", String(this.received));
      query.set("process", this.process);
    }
    if (!this.options.filter) query.set("filter", "false");
    const socket = openSocket("term", query.toString());
    this.socket = socket;
    socket.onmessage = (e) => {
      if (this.socket !== socket) return;
      if (typeof e.data === "string") this.text(e.data);
      else this.bytes(new Uint8Array(e.data), socket);
    };
    socket.onclose = (e) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.keys.clear();
      if (this.isClosed || this.state.peek().ended) return;
      /* Ended, not ours, or nothing of this name. Anything else may pass. */
      if (e.code === 1000 || e.code === 4403 || e.code === 4404) this.set({ link: "over", ended: e.code === 1000, error: e.reason });
      else if (e.code === 4401) refusal.value = tunnel ? "tunnel" : "invalid";
      else {
        this.set({ link: "lost", isOwner: false });
        this.again.wait();
      }
    };
  }

  /* The connection begins, or begins anew at another place. */
  private begin(m: Opened): void {
    const isSame = m.process === this.process;
    if (isSame && this.position.peek() !== null && (m.at !== this.received || this.screenLeft > 0)) this.sink.jump(Math.max(0, m.at - this.received));
    if (!isSame || m.at !== this.received) this.position.value = m.at;
    this.process = m.process ?? "";
    this.received = m.at;
    this.acked = m.at;
    this.owesAck = true;
    this.screenLeft = m.screen ?? 0;
    this.liveFrom = m.head ?? m.at;
    this.again.reset();
    this.set({ link: "live", restarting: false, exitCode: null, error: "", viewers: m.viewers ?? this.state.peek().viewers, canType: this.options.mode === "type" && m.writer !== false });
    this.sized(m.cols, m.rows);
    this.owned(m.owner);
    if (document.hidden) this.tellHidden();
  }

  private sized(cols: number | undefined, rows: number | undefined): void {
    if (!cols || !rows) return;
    this.set({ cols, rows });
    this.sink.resized(cols, rows);
  }

  private owned(owner: boolean | undefined): void {
    if (owner !== undefined) this.set({ isOwner: owner });
  }

  private text(text: string): void {
    const m = JSON.parse(text) as Opened | TermEvent | { done: number } | { refused: number };
    if ("done" in m) {
      this.keys.get(m.done)?.(true);
      this.keys.delete(m.done);
    } else if ("refused" in m) {
      this.keys.get(m.refused)?.(false);
      this.keys.delete(m.refused);
    } else if ("event" in m) this.event(m);
    else if ("at" in m) this.begin(m);
  }

  private event(m: TermEvent): void {
    if (m.viewers !== undefined) this.set({ viewers: m.viewers });
    switch (m.event) {
      case "lag":
        this.set({ missed: this.state.peek().missed + (m.dropped ?? 0) });
        break;
      case "resized":
        this.sized(m.cols, m.rows);
        break;
      case "owner":
        this.owned(m.owner);
        this.sized(m.cols, m.rows);
        break;
      case "restarting":
        this.set({ restarting: true });
        break;
      case "writer":
        this.set({ canType: this.options.mode === "type" });
        break;
      case "exited":
        this.set({ exitCode: m.code ?? null });
        break;
      case "ended":
        this.set({ ended: true, link: "over" });
        break;
    }
  }

  /* What is handed to the sink will be drawn, so `received` is where a break is resumed; `position` and the acknowledgement follow the drawing. */
  private bytes(data: Uint8Array, socket: Socket): void {
    if (!performance.getEntriesByName(FIRST_BYTE).length) performance.mark(FIRST_BYTE);
    const nOld = Math.min(data.length, Math.max(0, this.liveFrom - this.received));
    if (nOld) this.draw(data.subarray(0, nOld), true, socket);
    if (nOld < data.length) this.draw(data.subarray(nOld), false, socket);
  }

  private draw(data: Uint8Array, isOld: boolean, socket: Socket): void {
    this.received += data.length;
    this.screenLeft = Math.max(0, this.screenLeft - data.length);
    const end = this.received;
    const isDue = this.owesAck && this.screenLeft === 0;
    if (isDue) this.owesAck = false;
    this.sink.draw(data, isOld, () => {
      this.position.value = end;
      if (this.socket !== socket || (!isDue && end - this.acked < ACK_BYTES)) return;
      this.acked = end;
      this.say({ ack: end });
    });
  }

  private say(message: object): boolean {
    if (!this.socket?.isOpen) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /* What is typed while the link is down is refused, not kept: false. */
  type(data: string | Uint8Array): boolean {
    if (!this.socket?.isOpen || this.options.mode !== "type") return false;
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    for (let i = 0; i < bytes.length; i += 65536) this.socket.send(bytes.slice(i, i + 65536));
    return true;
  }

  /* A key with a receipt: `taken` is told when the terminal has it, or will not. */
  key(name: string, taken: (isTaken: boolean) => void): boolean {
    const n = ++this.lastKey;
    this.keys.set(n, taken);
    return this.say({ key: name, n });
  }

  resize(cols: number, rows: number): void {
    this.say({ resize: [cols, rows] });
  }

  take(): void {
    this.say({ take: true });
    const { cols, rows } = this.options.size();
    this.resize(cols, rows);
  }

  close(): void {
    this.isClosed = true;
    document.removeEventListener("visibilitychange", this.tellHidden);
    this.again.reset();
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }
}
