// SPDX-License-Identifier: MIT
// A recording in asciicast v2: a line that describes it, then a line for each event. A last line that is not whole (it is still being written) is left out.
export interface CastEvent {
  kind: string;
  data: string;
}

export interface Cast {
  cols: number;
  rows: number;
  events: CastEvent[];
  /* When each event comes, in seconds; and the same with pauses cut. */
  times: number[];
  cutTimes: number[];
  markers: { index: number; label: string }[];
}

const IDLE_S = 2;

export function parseCast(text: string): Cast {
  const lines = text.split("\n");
  const head = JSON.parse(lines[0] ?? "{}") as { version?: number; width?: number; height?: number };
  if (head.version !== 2) throw new Error("asciicast v2");
  const cast: Cast = { cols: head.width || 80, rows: head.height || 24, events: [], times: [], cutTimes: [], markers: [] };
  let last = 0;
  let cut = 0;
  for (const line of lines.slice(1)) {
    if (!line) continue;
    let event: [number, string, string];
    try {
      event = JSON.parse(line) as [number, string, string];
    } catch {
      break;
    }
    const [at, kind, data] = event;
    cut += Math.min(IDLE_S, Math.max(0, at - last));
    last = Math.max(last, at);
    if (kind === "m") cast.markers.push({ index: cast.events.length, label: data });
    cast.events.push({ kind, data });
    cast.times.push(last);
    cast.cutTimes.push(cut);
  }
  return cast;
}

export interface CastHit {
  /* In seconds of the recording, with its pauses. */
  at: number;
  line: string;
}

const CONTROL = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x09\x0b-\x1f\x7f]/g;

/* Lines of what was printed that contain the word, in any case, each with the moment when it was whole. */
export function searchCast(cast: Cast, word: string, limit: number): CastHit[] {
  const hits: CastHit[] = [];
  const wanted = word.toLowerCase();
  let line = "";
  const look = (at: number) => {
    if (wanted && hits.length < limit && line.toLowerCase().includes(wanted)) hits.push({ at, line: line.trim().slice(0, 300) });
  };
  cast.events.forEach((e, i) => {
    if (e.kind !== "o") return;
    const parts = e.data.replace(CONTROL, "").split("\n");
    parts.forEach((part, j) => {
      line = (line + part).slice(-4000);
      if (j === parts.length - 1) return;
      look(cast.times[i] ?? 0);
      line = "";
    });
  });
  look(cast.times[cast.times.length - 1] ?? 0);
  return hits;
}

/* The first event at or behind a moment. */
export function indexAt(cast: Cast, seconds: number): number {
  const found = cast.times.findIndex((t) => t >= seconds);
  return found < 0 ? Math.max(0, cast.times.length - 1) : found;
}
