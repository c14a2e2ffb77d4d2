// SPDX-License-Identifier: MIT
// The parts of the tunnel's loader that need no browser, asked by lines of JSON: loader.mjs WEB. {"code": TEXT} gives {"offer"} or {"fault"}; {"sha256": BASE64}
// gives {"hex"}; {"fuzz": [TEXT…], "seed": N, "rounds": N} changes the codes at random, and gives {"good", "broken", "version"}: how many were taken for what.
// {"page": …} opens the whole page (loader-page.mjs).
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { openPage } from "./loader-page.mjs";

const web = process.argv[2];
const { build } = createRequire(`${web}/`)("esbuild");
const bundled = await build({
  stdin: { contents: 'export * from "./code"; export * from "./sha256"; export { cut } from "../lib/tunnel";', resolveDir: `${web}/src/connect`, loader: "ts" },
  bundle: true, format: "esm", write: false, target: "es2022",
});
const { CodeError, cut, offerOf, parseCode, sha256 } = await import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].contents).toString("base64")}`);

const CANDIDATE = /^a=candidate:\d+ 1 udp \d+ [\da-f.:]+ \d+ typ (host|srflx raddr 0\.0\.0\.0 rport 0)$/;

function take(code) {
  try {
    return { offer: offerOf(parseCode(code)) };
  } catch (e) {
    if (!(e instanceof CodeError)) throw e;
    return { fault: e.fault };
  }
}

/* Nothing that is read out of a code can become a line of its own in the offer. */
function checkOffer(offer) {
  const lines = offer.split("\r\n");
  const fixed = lines.slice(0, 15);
  if (/[\r\n]/.test(lines.join("")) || fixed.some((l) => !/^[a-z]=[\w\-+/:.= ]+$/.test(l)) || lines.slice(15, -2).some((l) => !CANDIDATE.test(l))) throw new Error(`a wrong offer: ${offer}`);
}

function changed(text, random) {
  const bytes = Buffer.from(text, "base64url");
  const kind = random(5);
  if (kind === 0) return text.slice(0, random(text.length));
  if (kind === 1) return text.slice(0, random(text.length)) + String.fromCharCode(random(0x3000)) + text.slice(random(text.length));
  if (kind === 2) return Buffer.concat([bytes, Buffer.from(Array.from({ length: random(40) }, () => random(256)))]).toString("base64url");
  if (kind === 3) return Buffer.from(Array.from({ length: random(200) }, () => random(256))).toString("base64url");
  for (let i = 0; i <= random(3); i++) bytes[random(bytes.length)] = random(256);
  return bytes.toString("base64url");
}

function fuzz({ fuzz: codes, seed, rounds }) {
  const count = { good: 0, broken: 0, version: 0 };
  let x = seed;
  const random = (n) => (x = (Math.imul(x, 1664525) + 1013904223) >>> 0) % n;
  for (let i = 0; i < rounds; i++) {
    const got = take(changed(codes[random(codes.length)], random));
    if (got.offer) checkOffer(got.offer);
    count[got.fault ?? "good"]++;
  }
  return count;
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = request.code !== undefined ? take(request.code) : request.fuzz ? fuzz(request) : request.page ? await openPage(web, request.page)
    : request.cut !== undefined ? { parts: cut(request.cut).map((p) => (typeof p === "string" ? { text: p } : { base64: Buffer.from(p).toString("base64") })) }
    : { hex: sha256(new Uint8Array(Buffer.from(request.sha256, "base64"))) };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
