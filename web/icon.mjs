// SPDX-License-Identifier: MIT
// The sign of muster: four windows on a board, drawn once, here. The same rectangles become the SVG and the PNG files that phones and installed apps want; the
// PNG is written with nothing but zlib. Coordinates are of a square of 64.
import { deflateSync } from "node:zlib";

const BOARD = { x: 0, y: 0, width: 64, height: 64, r: 14, colour: [0x1d, 0x5f, 0x8a], opacity: 1 };
const WINDOWS = [[12, 14, 1], [34, 14, .75], [12, 34, .75], [34, 34, .5]].map(([x, y, opacity]) => ({ x, y, width: 18, height: 14, r: 3, colour: [255, 255, 255], opacity }));

export function svg() {
  const rect = (s) => `<rect x="${s.x}" y="${s.y}" width="${s.width}" height="${s.height}" rx="${s.r}" fill="#${s.colour.map((c) => c.toString(16).padStart(2, "0")).join("")}"${s.opacity < 1 ? ` opacity="${s.opacity}"` : ""}/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">${[BOARD, ...WINDOWS].map(rect).join("")}</svg>`;
}

/* How much of a pixel of width `pixel` around (x, y) lies in a rectangle with round corners: by the distance from its edge. */
function cover(s, x, y, pixel) {
  const dx = Math.abs(x - s.x - s.width / 2) - (s.width / 2 - s.r);
  const dy = Math.abs(y - s.y - s.height / 2) - (s.height / 2 - s.r);
  const distance = Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - s.r;
  return Math.min(1, Math.max(0, .5 - distance / pixel));
}

/* Colour and opacity of a pixel: what is drawn later lies above. */
function pixelOf(shapes, x, y, pixel) {
  let [red, green, blue, alpha] = [0, 0, 0, 0];
  for (const s of shapes) {
    const a = cover(s, x, y, pixel) * s.opacity;
    const sum = a + alpha * (1 - a);
    const mix = (below, c) => (sum ? (c * a + below * alpha * (1 - a)) / sum : 0);
    [red, green, blue, alpha] = [mix(red, s.colour[0]), mix(green, s.colour[1]), mix(blue, s.colour[2]), sum];
  }
  return [red, green, blue, alpha * 255].map(Math.round);
}

const CRC = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let crc = 0xffffffff;
  for (const b of body) crc = CRC[(crc ^ b) & 255] ^ (crc >>> 8);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}

/* A PNG of so many pixels a side. `isWhole`: the board has no corners, for systems that cut a shape of their own out of it; the windows stay in the inner part. */
export function png(size, isWhole = false) {
  const side = isWhole ? 80 : 64; /* more board around the same windows */
  const shapes = [isWhole ? { ...BOARD, x: -16, y: -16, width: 96, height: 96, r: 0 } : BOARD, ...WINDOWS];
  const from = (64 - side) / 2;
  const step = side / size;
  const rows = Buffer.alloc(size * (1 + size * 4));
  for (let j = 0; j < size; j++) {
    const row = j * (1 + size * 4);
    for (let i = 0; i < size; i++) rows.set(pixelOf(shapes, from + (i + .5) * step, from + (j + .5) * step, step), row + 1 + i * 4);
  }
  /* Each row as the difference from the one above (filter 2): most of them are equal, and that packs well. */
  const packed = Buffer.from(rows);
  for (let j = 0; j < size; j++) {
    const row = j * (1 + size * 4);
    packed[row] = 2;
    for (let i = 1; i <= size * 4; i++) packed[row + i] = rows[row + i] - (j ? rows[row + i - (1 + size * 4)] : 0);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8); /* 8 bits, red green blue opacity */
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk("IHDR", head), chunk("IDAT", deflateSync(packed, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
