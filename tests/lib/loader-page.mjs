// SPDX-License-Identifier: MIT
// The whole loader of tunnels in node: a browser of a few lines around it, and a daemon behind its channels whose files can be other ones than its list or its proof says.
// openPage(WEB, REQUEST) gives {"fault"}, the key of what the page says, and {"ran"}, which scripts were run; loader.py has what can be asked.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";

const DEADLINE_MS = 20_000;
const hex = (data) => createHash("sha256").update(data).digest("hex");

function flipped(data, at = data.length >> 1) {
  const other = Buffer.from(data);
  other[at] ^= 1;
  return other;
}

/* What each change makes of a file: [status, coding, bytes]. */
const CHANGES = {
  "": (data, coding) => [200, coding, coding ? gzipSync(data) : data],
  flipped: (data, coding) => CHANGES[""](flipped(data), coding),
  "wrong sum": (data) => [200, "gzip", flipped(gzipSync(data), gzipSync(data).length - 8)],
  "cut short": (data) => [200, "gzip", gzipSync(data).subarray(0, -9)],
  "not compressed": (data) => [200, "gzip", data],
  missing: () => [404, undefined, Buffer.alloc(0)],
};

/* The daemon: its proof, its list, its files. The list is cut in two parts, as a long one is. */
class FakeDaemon {
  constructor({ files, unlisted = [], changed, how = "", kind = "console", refuses = false }) {
    Object.assign(this, { files, changed, how, refuses });
    const listed = Object.keys(files).filter((path) => !unlisted.includes(path));
    this.list = Buffer.from(JSON.stringify({ files: listed.map((path) => ({ path, type: "text/plain", bytes: files[path].length, sha256: hex(files[path]) })) }));
    this.proof = { ok: true, session: "s", name: "n", scope: "control", resume: "again", console: { kind, sha256: hex(this.list) } };
  }

  /* The messages that answer this one. */
  answer(label, request) {
    if (label === "coop-control") return [JSON.stringify(this.refuses ? { ok: false, error: "PERMISSION_DENIED" } : this.proof)];
    if (request.list) {
      /* In a member that nobody looks at: nothing but the hash tells. */
      const list = this.changed === "list" ? flipped(this.list, this.list.indexOf("text/plain")) : this.list;
      return [list.subarray(0, 20), list.subarray(20).toString()];
    }
    const how = request.get === this.changed ? this.how : "";
    if (how === "no head") return ['{"status":200,'];
    const [status, coding, bytes] = CHANGES[how](Buffer.from(this.files[request.get]), request.coding);
    return [JSON.stringify({ status, path: request.get, bytes: bytes.length, coding }), ...(bytes.length ? [bytes] : [])];
  }
}

class FakeChannel {
  readyState = "connecting";

  constructor(daemon, label) {
    Object.assign(this, { daemon, label });
  }

  open() {
    this.readyState = "open";
    this.onopen?.();
  }

  send(text) {
    for (const data of this.daemon.answer(this.label, JSON.parse(text)))
      setImmediate(() => this.onmessage({ data: typeof data === "string" ? data : new Uint8Array(data).buffer }));
  }
}

function fakeConnection(daemon) {
  return class {
    connectionState = "new";
    iceConnectionState = "new";

    createDataChannel(label) {
      const channel = new FakeChannel(daemon, label);
      if (this.connectionState === "connected") setImmediate(() => channel.open());
      else this.first = channel;
      return channel;
    }

    async setRemoteDescription() {}

    async setLocalDescription() {
      this.connectionState = "connected";
      setImmediate(() => this.first.open());
    }

    close() {
      this.connectionState = "closed";
    }
  };
}

class FakeElement {
  children = [];
  textContent = "";

  setAttribute() {}

  focus() {}

  append(...children) {
    this.children.push(...children);
  }

  replaceChildren(...children) {
    this.children = children;
    this.changed?.();
  }

  replaceWith() {
    this.gone = true;
  }

  querySelector(name) {
    return this.children.find((c) => c.name === name);
  }
}

/* Node imports no blobs, but data: a blob keeps what it was made of, so that its address can be that. */
class KeptBlob extends Blob {
  constructor(parts, options) {
    super(parts, options);
    this.parts = parts;
  }
}

/* The address of a script of this page. One that had the same address before would not be run again. */
function scriptOf(text) {
  return `data:text/javascript;base64,${Buffer.from(`${text}\n/* ${nPages} */`).toString("base64")}`;
}

function putGlobals(page, place, { code, webrtc = true, inflate = true }, daemon) {
  const storage = () => ({ getItem: () => null, setItem() {}, removeItem() {} });
  const globals = {
    ran: page.ran, Blob: KeptBlob, navigator: {}, sessionStorage: storage(), localStorage: storage(), addEventListener() {},
    RTCPeerConnection: webrtc ? fakeConnection(daemon) : undefined, DecompressionStream: inflate ? page.DecompressionStream : undefined,
    location: { hash: `#${code}`, search: "", pathname: "/connect", hostname: "localhost", reload() {} }, history: { replaceState() {} },
    document: {
      head: new FakeElement(), addEventListener() {}, getElementById: () => place,
      createElement: (name) => Object.assign(new FakeElement(), { name }),
    },
    /* The page's own deadlines do not hold up this program. */
    setTimeout: (...args) => page.setTimeout(...args).unref(),
  };
  for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  URL.createObjectURL = (blob) => {
    return scriptOf(blob.parts.join(""));
  };
}

const real = { DecompressionStream: globalThis.DecompressionStream, setTimeout: globalThis.setTimeout };
let bundled = null;
let nPages = 0;

async function bundle(web) {
  const { build } = createRequire(`${web}/`)("esbuild");
  const one = async (name) => (await build({ entryPoints: [`${web}/src/connect/${name}`], bundle: true, format: "esm", write: false, target: "es2022" })).outputFiles[0].text;
  return { main: await one("main.ts"), words: (await import(scriptOf(await one("words.ts")))).w };
}

/* Until the page says what is wrong, or the console has taken its place. */
function ended(place, ran) {
  return new Promise((resolve, reject) => {
    const timer = real.setTimeout(() => reject(new Error("the page goes on and on")), DEADLINE_MS);
    const look = () => {
      const title = place.querySelector("h1")?.textContent;
      if (!title && !ran.includes("main")) return;
      clearTimeout(timer);
      resolve(title);
    };
    place.changed = look;
    ran.push = (...names) => (Array.prototype.push.apply(ran, names), look());
  });
}

export async function openPage(web, request) {
  bundled ??= await bundle(web);
  const page = { ran: [], ...real };
  const place = new FakeElement();
  putGlobals(page, place, request, new FakeDaemon(request));
  const over = ended(place, page.ran);
  nPages++;
  await import(scriptOf(bundled.main));
  const title = await over;
  const answer = { ran: page.ran, fault: Object.keys(bundled.words.fault).find((key) => bundled.words.fault[key][0] === title) ?? title ?? null };
  if (request.later) answer.later = await globalThis.musterTunnel.load(request.later).then(() => null, (e) => e.fault ?? String(e));
  return answer;
}
