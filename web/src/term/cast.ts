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
