// SPDX-License-Identifier: MIT
// One JSON-RPC connection over a WebSocket or a data channel. It connects, answers calls and tells of its end; whether and when it is opened again is for link.ts to say.
import { openSocket, type Socket } from "./transport";

export interface ErrorData {
  dialect?: string;
  code?: string | number;
  details?: unknown;
  [key: string]: unknown;
}

/* What the daemon said no to, with the contract's own code where there is one. */
export class CallError extends Error {
  constructor(readonly method: string, readonly code: number | string, message: string, readonly data?: ErrorData) {
    super(message);
    this.name = "CallError";
  }
}

/* The call may or may not have been carried out: the connection ended first. */
export class LinkError extends Error {
  constructor() {
    super("link");
    this.name = "LinkError";
  }
}

interface Reply {
  id?: number | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: ErrorData };
}

interface Pending {
  method: string;
  began: number;
  timer: number;
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

const ANSWER_MS = 30_000;

export class Rpc {
  private socket: Socket | null = null;
  private pending = new Map<number, Pending>();
  private lastId = 0;
  onopen: () => void = () => {};
  onclose: (code: number, wasOpen: boolean) => void = () => {};
  onnotice: (method: string, params: unknown) => void = () => {};
  onlatency: (ms: number) => void = () => {};

  constructor(private readonly purpose: "rpc" | "feed") {}

  get isOpen(): boolean {
    return this.socket?.isOpen ?? false;
  }

  open(): void {
    this.close();
    const socket = openSocket(this.purpose);
    let wasOpen = false;
    this.socket = socket;
    socket.onopen = () => {
      wasOpen = true;
      this.onopen();
    };
    socket.onmessage = (e) => this.message(String(e.data));
    socket.onclose = (e) => {
      if (this.socket !== socket) return;
      this.drop();
      this.onclose(e.code, wasOpen);
    };
  }

  /* Lets go of the connection without a word to onclose. */
  close(): void {
    const socket = this.socket;
    this.drop();
    socket?.close();
  }

  private drop(): void {
    this.socket = null;
    const pending = [...this.pending.values()];
    this.pending.clear();
    for (const p of pending) {
      clearTimeout(p.timer);
      p.reject(new LinkError());
    }
  }

  call<T>(method: string, params: object = {}, answerMs = ANSWER_MS): Promise<T> {
    if (!this.socket || !this.isOpen) return Promise.reject(new LinkError());
    const id = ++this.lastId;
    const socket = this.socket;
    return new Promise<T>((resolve, reject) => {
      /* A connection that answers nothing for so long is no connection. */
      const timer = setTimeout(() => socket.close(), answerMs) as unknown as number;
      this.pending.set(id, { method, began: performance.now(), timer, resolve: resolve as (v: unknown) => void, reject });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  private message(text: string): void {
    const reply = JSON.parse(text) as Reply;
    if (reply.method !== undefined && (reply.id === undefined || reply.id === null)) {
      this.onnotice(reply.method, reply.params);
      return;
    }
    const p = this.pending.get(reply.id ?? -1);
    if (!p) return;
    this.pending.delete(reply.id ?? -1);
    clearTimeout(p.timer);
    this.onlatency(performance.now() - p.began);
    if (reply.error) p.reject(new CallError(p.method, reply.error.data?.code ?? reply.error.code, reply.error.message, reply.error.data));
    else p.resolve(reply.result);
  }
}
