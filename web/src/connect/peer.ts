// SPDX-License-Identifier: MIT
// The connection to the daemon: a peer connection whose answer stays here, proved by the token, and opened again with the resume token whenever it is lost,
// quietly. The console asks it for channels (lib/tunnel.ts has what it sees of it); it owns them, this owns what carries them.
import { offerOf, parseCode, type Code } from "./code";

const KEPT = "muster_tunnel";
const PROOF_MS = 20_000; /* for the first time: a prompt of the browser may be in between */
const AGAIN_MS = 7_000; /* for another try */
const GRACE_MS = 2_000; /* a connection that stutters is given so long to come back by itself */
const OVER_MS = 600_000; /* what the daemon keeps a lost one for */

export type Fault = "broken" | "version" | "browser" | "path" | "spent" | "over" | "console" | "fallback";
export class Failure extends Error {
  constructor(readonly fault: Fault) {
    super(fault);
  }
}

export interface Proof {
  session: string;
  name: string;
  scope: string;
  resume: string;
  console: { kind: string; sha256: string };
}

type Answer = Record<string, unknown>;
type State = "connecting" | "live" | "lost" | "over";
interface Kept {
  code: string;
  resume: string;
}

/* A browser may refuse a page its storage; then nothing is kept, and a reload needs a new code. */
export function store<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}

/* What a reload of this tab goes on with; the code itself is spent by then. */
export function kept(): Kept | null {
  return store(() => JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as Kept | null);
}

export function forget(): void {
  store(() => sessionStorage.removeItem(KEPT));
}

export class Peer {
  readonly version = 1;
  state: State = "connecting";
  proof!: Proof;
  private readonly code: Code;
  private readonly listeners = new Set<() => void>();
  private pc: RTCPeerConnection | null = null;
  private control: RTCDataChannel | null = null;
  private answers: ((answer: Answer | null) => void)[] = [];
  private parts: Uint8Array[] = [];
  private timer = 0;
  private lostAt = 0;
  private nTries = 0;
  /* Ends the attempt that is under way, if one is and nobody has answered it. */
  private giveUp: () => unknown = () => {};

  constructor(private readonly text: string, private resume = "") {
    this.code = parseCode(text);
  }

  /* Told of every change of the state. */
  onstate(listener: () => void): void {
    this.listeners.add(listener);
  }

  /* Resolved when there is a connection, at once where there is one. */
  live(): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.state !== "live" && this.state !== "over") return;
        this.listeners.delete(look);
        if (this.state === "live") resolve();
        else reject(new Failure("over"));
      };
      this.listeners.add(look);
      look();
    });
  }

  private set(state: State): void {
    if (this.state === state) return;
    this.state = state;
    for (const listener of [...this.listeners]) listener();
  }

  async open(): Promise<void> {
    if (typeof RTCPeerConnection === "undefined") throw new Failure("browser");
    const isResumed = this.resume !== "";
    if (!(await this.attempt(PROOF_MS))) {
      forget();
      throw new Failure(isResumed ? "over" : "spent");
    }
    /* An attempt that began without a network has nothing to try. */
    addEventListener("online", () => (this.giveUp(), this.retry()));
    /* A page that goes says so: the daemon has one peer at a time, and waits for one that went without a word. */
    addEventListener("pagehide", () => this.pc?.close());
    addEventListener("pageshow", () => (this.pc?.connectionState === "closed" ? this.lose() : this.retry()));
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
  }

  /* One connection up to its proof. False: the daemon answered, and does not want us. */
  private async attempt(ms: number): Promise<boolean> {
    const pc = new RTCPeerConnection();
    const control = pc.createDataChannel("coop-control");
    this.pc = pc;
    this.control = control;
    let timer = 0;
    try {
      const opened = new Promise<void>((resolve, reject) => {
        const fail = () => reject(new Failure("path"));
        /* One that has reached the daemon is let be: it would wait for it, and not for the next. */
        this.giveUp = () => /new|checking/.test(pc.iceConnectionState) && fail();
        control.onopen = () => resolve();
        control.onclose = fail;
        pc.onconnectionstatechange = () => pc.connectionState === "failed" && fail();
        timer = setTimeout(fail, ms) as unknown as number;
      });
      opened.catch(() => {});
      await pc.setRemoteDescription({ type: "offer", sdp: offerOf(this.code) });
      await pc.setLocalDescription();
      await opened;
      const answer = await Promise.race([this.prove(control), new Promise<null>((r) => setTimeout(r, ms, null))]);
      if (!answer) throw new Failure("path");
      if (answer.ok !== true) {
        pc.close();
        return false;
      }
      this.took(pc, control, answer as unknown as Proof);
      return true;
    } catch (e) {
      pc.close();
      throw e instanceof Failure ? e : new Failure("browser");
    } finally {
      clearTimeout(timer);
    }
  }

  private prove(control: RTCDataChannel): Promise<Answer | null> {
    control.binaryType = "arraybuffer";
    this.answers = [];
    this.parts = [];
    control.onmessage = (e) => this.message(e.data as string | ArrayBuffer);
    control.onclose = () => this.gone();
    return this.command({ ...(this.resume ? { resume: this.resume } : { token: this.code.token }), version: 1 });
  }

  private took(pc: RTCPeerConnection, control: RTCDataChannel, proof: Proof): void {
    this.proof = proof;
    this.resume = proof.resume;
    this.nTries = 0;
    store(() => sessionStorage.setItem(KEPT, JSON.stringify({ code: this.text, resume: this.resume })));
    const lost = () => this.pc === pc && this.lose();
    control.onclose = lost;
    /* Terminals of coop's own are opened by the daemon; the console has muster-term instead. */
    pc.ondatachannel = (e) => e.channel.close();
    pc.onconnectionstatechange = () => {
      clearTimeout(this.timer);
      if (pc.connectionState === "failed" || pc.connectionState === "closed") lost();
      else if (pc.connectionState === "disconnected") this.timer = setTimeout(lost, GRACE_MS) as unknown as number;
    };
    this.set("live");
  }

  private gone(): void {
    const waiting = this.answers;
    this.answers = [];
    for (const answer of waiting) answer(null);
  }

  private lose(): void {
    if (this.state !== "live") return;
    this.pc?.close();
    this.pc = null;
    this.control = null;
    this.gone();
    this.lostAt = Date.now();
    this.set("lost");
    void this.again();
  }

  private async again(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.state !== "lost") return;
    if (Date.now() - this.lostAt > OVER_MS) return this.end();
    try {
      if (!(await this.attempt(AGAIN_MS))) this.end();
    } catch {
      this.timer = setTimeout(() => void this.again(), Math.min(5_000, 250 * 2 ** this.nTries++)) as unknown as number;
    }
  }

  /* Nothing more will come of it. */
  end(): void {
    clearTimeout(this.timer);
    forget();
    this.set("over");
    this.pc?.close();
    this.pc = null;
  }

  /* Now instead of when it is due. */
  retry(): void {
    if (this.state === "lost" && this.timer) void this.again();
  }

  /* null while there is no connection. */
  channel(label: string): RTCDataChannel | null {
    if (this.state !== "live" || !this.pc || this.pc.connectionState === "closed") return null;
    const channel = this.pc.createDataChannel(label);
    channel.binaryType = "arraybuffer";
    return channel;
  }

  /* A command of coop; null: the connection ended before the answer came. */
  command(request: object): Promise<Answer | null> {
    const { control } = this;
    if (control?.readyState !== "open") return Promise.resolve(null);
    return new Promise((resolve) => {
      this.answers.push(resolve);
      control.send(JSON.stringify(request));
    });
  }

  /* Answers come in the order of the commands; a long one in parts, the last of which is text. */
  private message(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      this.parts.push(new Uint8Array(data));
      return;
    }
    const text = new TextDecoder().decode(joined([...this.parts, new TextEncoder().encode(data)]));
    this.parts = [];
    const answer = JSON.parse(text) as Answer;
    if (answer.event === undefined) this.answers.shift()?.(answer);
  }
}

export function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}
