// SPDX-License-Identifier: MIT
// The code of a tunnel, the text behind "#" (docs/tunnel-wire.md): reading it, and the offer that is made of it. What is not exactly a code is wrong as a whole.
export interface Candidate {
  address: string;
  port: number;
  isReflexive: boolean;
}

export interface Code {
  isView: boolean;
  ufrag: string;
  pwd: string;
  /* base64url, as the proof has it. */
  token: string;
  fingerprint: string;
  candidates: Candidate[];
}

export type CodeFault = "broken" | "version";
export class CodeError extends Error {
  constructor(readonly fault: CodeFault) {
    super(fault);
  }
}

const FIXED = 74;
const CANDIDATES_MAX = 16;

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function decode(text: string): Uint8Array {
  if (!/^[\w-]{2,600}$/.test(text) || text.length % 4 === 1) throw new CodeError("broken");
  const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  /* Bits that belong to no byte are 0: there is one text for a code. */
  if (encode(bytes) !== text) throw new CodeError("broken");
  return bytes;
}

function encode(bytes: Uint8Array): string {
  return base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/* As inet_ntop writes it: the longest run of zeros, of two or more groups, is left out; the first of two that are as long. */
function ipv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  let best = 0;
  let at = -1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && groups[i + n] === 0) n++;
    if (n > best) [best, at] = [n, i];
  }
  const text = (list: number[]) => list.map((g) => g.toString(16)).join(":");
  return best < 2 ? text(groups) : `${text(groups.slice(0, at))}::${text(groups.slice(at + best))}`;
}

function candidates(bytes: Uint8Array): Candidate[] {
  const found: Candidate[] = [];
  for (let i = 0; i < bytes.length; ) {
    const kind = bytes[i]!;
    const n = kind === 1 || kind === 3 ? 4 : kind === 2 || kind === 4 ? 16 : 0;
    const address = bytes.subarray(i + 1, i + 1 + n);
    const port = (bytes[i + 1 + n]! << 8) | bytes[i + 2 + n]!;
    if (!n || i + n + 3 > bytes.length || !port) throw new CodeError("broken");
    found.push({ address: n === 4 ? address.join(".") : ipv6(address), port, isReflexive: kind > 2 });
    i += n + 3;
  }
  if (!found.length || found.length > CANDIDATES_MAX) throw new CodeError("broken");
  return found;
}

export function parseCode(text: string): Code {
  const bytes = decode(text);
  if (bytes[0] !== 1) throw new CodeError("version");
  if (bytes.length < FIXED) throw new CodeError("broken");
  return {
    isView: (bytes[1]! & 1) === 1,
    ufrag: base64(bytes.subarray(2, 8)),
    pwd: base64(bytes.subarray(8, 26)),
    token: encode(bytes.subarray(26, 42)),
    fingerprint: Array.from(bytes.subarray(42, FIXED), (b) => b.toString(16).padStart(2, "0").toUpperCase()).join(":"),
    candidates: candidates(bytes.subarray(FIXED)),
  };
}

/* Exactly the text that `offer_sdp` has. */
export function offerOf(code: Code): string {
  return [
    "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=ice-lite", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=mid:0",
    `a=ice-ufrag:${code.ufrag}`, `a=ice-pwd:${code.pwd}`, `a=fingerprint:sha-256 ${code.fingerprint}`, "a=setup:actpass", "a=sctp-port:5000", "a=max-message-size:262144",
    ...code.candidates.map((c, i) =>
      `a=candidate:${i + 1} 1 udp ${(c.isReflexive ? 1694498815 : 2130706431) - 256 * i} ${c.address} ${c.port} typ ${c.isReflexive ? "srflx raddr 0.0.0.0 rport 0" : "host"}`),
    "a=end-of-candidates", "",
  ].join("\r\n");
}
