// SPDX-License-Identifier: MIT
// The files of the console, from the daemon, each checked against the list whose hash the proof gave. Scripts become blobs: what a script imports is named in it
// by "./NAME", which a blob cannot resolve, so the name of the blob is put there; import() becomes a call of ours, so that parts are loaded when they are wanted.
// web/build.mjs checks that these two forms are all there are.
import { Failure, joined, type Peer } from "./peer";
import { sha256 } from "./sha256";

interface Head {
  status: number;
  bytes: number;
  coding?: string;
}

interface Wanted {
  request: object;
  resolve(data: Uint8Array<ArrayBuffer>): void;
  reject(e: Error): void;
}

const TRIES_MAX = 20;
const canInflate = typeof DecompressionStream !== "undefined";

async function inflate(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  } catch {
    throw new Failure("console");
  }
}

/* null: it is none that this daemon writes. */
function headOf(text: Uint8Array): (Head & { files?: unknown; close?: number }) | null {
  try {
    return JSON.parse(new TextDecoder().decode(text)) as Head & { files?: unknown; close?: number };
  } catch {
    return null;
  }
}

export class Files {
  private hashes = new Map<string, string>();
  private channel: RTCDataChannel | null = null;
  private wanted: Wanted[] = [];
  private head: Head | null = null;
  private parts: Uint8Array[] = [];
  private n = 0;
  private scripts = new Map<string, Promise<string>>();

  constructor(private readonly peer: Peer) {}

  /* All of them asked for at once, answered in order. A link that is down is waited for. */
  private async ask(request: object): Promise<Uint8Array<ArrayBuffer>> {
    for (let n = 0; n < TRIES_MAX; n++) {
      await this.peer.live();
      try {
        return await this.put(request);
      } catch (e) {
        if (e instanceof Failure) throw e;
      }
      await new Promise((r) => setTimeout(r, 250));
    }
    throw new Failure("console");
  }

  private put(request: object): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      this.wanted.push({ request, resolve, reject });
      const channel = this.open();
      if (channel?.readyState === "open") channel.send(JSON.stringify(request));
    });
  }

  private open(): RTCDataChannel | null {
    if (this.channel) return this.channel;
    const channel = this.peer.channel("muster-file");
    if (!channel) {
      this.closed();
      return null;
    }
    this.channel = channel;
    channel.onopen = () => this.wanted.forEach((w) => channel.send(JSON.stringify(w.request)));
    channel.onclose = () => this.channel === channel && this.closed();
    channel.onmessage = (e) => this.message(e.data as string | ArrayBuffer);
    return channel;
  }

  private closed(): void {
    const wanted = this.wanted;
    this.channel = null;
    this.wanted = [];
    this.head = null;
    this.parts = [];
    this.n = 0;
    for (const w of wanted) w.reject(new Error("link"));
  }

  private message(data: string | ArrayBuffer): void {
    const isText = typeof data === "string";
    const bytes = isText ? new TextEncoder().encode(data) : new Uint8Array(data);
    this.parts.push(bytes);
    this.n += bytes.length;
    if (!this.head) {
      /* A long text comes in parts, of which the last is text. */
      if (!isText) return;
      const text = joined(this.parts);
      this.parts = [];
      this.n = 0;
      const head = headOf(text);
      if (!head) return this.wanted.shift()?.reject(new Failure("console"));
      if (head.close !== undefined) return;
      if (head.files) return this.done(text);
      this.head = head;
    }
    if (this.n < this.head.bytes) return;
    const { status, coding } = this.head;
    const whole = joined(this.parts);
    if (status !== 200) this.wanted.shift()?.reject(new Failure("console"));
    else if (coding === "gzip") this.wanted.shift()?.resolve(inflate(whole) as unknown as Uint8Array<ArrayBuffer>);
    else return this.done(whole);
    this.head = null;
    this.parts = [];
    this.n = 0;
  }

  private done(data: Uint8Array<ArrayBuffer>): void {
    this.head = null;
    this.parts = [];
    this.n = 0;
    this.wanted.shift()?.resolve(data);
  }

  /* The list of all files, which the proof has announced. */
  async list(): Promise<void> {
    const data = await this.ask({ list: true });
    if (sha256(data) !== this.peer.proof.console.sha256) throw new Failure("console");
    const { files } = JSON.parse(new TextDecoder().decode(data)) as { files: { path: string; sha256: string }[] };
    this.hashes = new Map(files.map((f) => [f.path, f.sha256]));
  }

  async text(path: string): Promise<string> {
    const data = await this.ask(canInflate ? { get: path, coding: "gzip" } : { get: path });
    if (sha256(data) !== this.hashes.get(path)) throw new Failure("console");
    return new TextDecoder().decode(data);
  }

  /* The address of a blob with this script. What could not be had is asked for again next time. */
  private script(path: string): Promise<string> {
    let made = this.scripts.get(path);
    if (!made) {
      made = this.blob(path);
      made.catch(() => this.scripts.delete(path));
      this.scripts.set(path, made);
    }
    return made;
  }

  private async blob(path: string): Promise<string> {
    const text = await this.text(path);
    const imports = /((?:from|import)")\.\/([\w.-]+\.js)"/g;
    const names = new Map(await Promise.all([...text.matchAll(imports)].map(async ([, , name]) => [name!, await this.script(`/assets/${name}`)] as const)));
    const bound = text.replace(imports, (_, word: string, name: string) => `${word}${names.get(name)}"`).replace(/import\("\.\/([\w.-]+\.js)"\)/g, 'musterTunnel.load("/assets/$1")');
    return URL.createObjectURL(new Blob([bound], { type: "text/javascript" }));
  }

  async load(path: string): Promise<unknown> {
    return import(await this.script(path));
  }

  /* Asked for before anybody imports it: by its whole path, or all parts of a name. */
  want(...names: string[]): void {
    for (const path of this.hashes.keys()) if (names.some((name) => path === name || path.startsWith(`/assets/${name}-`))) this.script(path).catch(() => {});
  }
}
