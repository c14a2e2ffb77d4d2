// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4). The browser's own is there on secure pages only, and this page may have come over plain HTTP.
const primes = (n: number) => {
  const found: number[] = [];
  for (let i = 2; found.length < n; i++) if (found.every((p) => i % p)) found.push(i);
  return found;
};
const fraction = (x: number) => ((x - Math.floor(x)) * 2 ** 32) | 0;
const ROUNDS = Int32Array.from(primes(64), (p) => fraction(Math.cbrt(p)));
const START = primes(8).map((p) => fraction(Math.sqrt(p)));

function block(h: Int32Array, w: Int32Array, data: DataView, at: number): void {
  for (let i = 0; i < 16; i++) w[i] = data.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!;
    const y = w[i - 2]!;
    w[i] = (w[i - 16]! + w[i - 7]! + (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) + (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10))) | 0;
  }
  let [a, b, c, d, e, f, g, k] = h as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (k + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [k, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, k].forEach((x, i) => (h[i] = (h[i]! + x) | 0));
}

export function sha256(bytes: Uint8Array): string {
  const n = bytes.length;
  const padded = new Uint8Array(((n + 72) >> 6) << 6);
  const view = new DataView(padded.buffer);
  padded.set(bytes);
  padded[n] = 0x80;
  view.setUint32(padded.length - 8, Math.floor(n / 2 ** 29));
  view.setUint32(padded.length - 4, (n << 3) >>> 0);
  const h = Int32Array.from(START);
  const w = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) block(h, w, view, at);
  return Array.from(h, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}
