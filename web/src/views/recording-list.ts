// SPDX-License-Identifier: MIT
// Recordings of the daemon: the list, the file of one, and the place in one that belongs to a moment.
import { call } from "../lib/link";
import { link } from "../lib/route";
import { parseCast, type Cast } from "../term/cast";

export interface Recording {
  id: string;
  object: string;
  started: string;
  seconds: number;
  bytes: number;
  is_live: boolean;
}

export async function listRecordings(): Promise<Recording[]> {
  return (await call<{ recordings: Recording[] }>("recording.ls")).recordings;
}

const PIECE = 512 * 1024;

/* The whole file, piece by piece: one that grows is read as far as it is. */
export async function fetchFile(id: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let offset = 0; ; ) {
    const { data } = await call<{ data: string }>("recording.read", { id, offset, limit: PIECE });
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    pieces.push(bytes);
    offset += bytes.length;
    if (bytes.length < PIECE) break;
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

export async function fetchCast(id: string): Promise<Cast> {
  return parseCast(new TextDecoder().decode(await fetchFile(id)));
}

/* Where the screen of that agent at that moment can be seen, if it was recorded then. */
export function momentOf(all: Recording[], object: string | undefined, at: string): string | null {
  const time = Date.parse(at);
  const found = all.find((r) => r.object === object && Date.parse(r.started) <= time && (r.is_live || time <= Date.parse(r.started) + r.seconds * 1000));
  return found ? `${link("recordings", found.id)}?at=${((time - Date.parse(found.started)) / 1000).toFixed(1)}` : null;
}
