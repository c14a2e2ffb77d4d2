// SPDX-License-Identifier: MIT
// The state of a hosted process as people read it: an icon, a word, an age and a source. Never colour alone.
import { age, clock } from "../lib/clock";
import { attention, type AgentState, type Process } from "../lib/store";
import { w } from "../words";

export interface Seen {
  icon: string;
  word: string;
  since: string | undefined;
  source: string;
  tone: "ask" | "good" | "quiet" | "begin" | "over" | "bad";
  /* It may be wrong; the source says why. */
  isDoubtful?: boolean;
}

const QUIET_MS = 5 * 60_000;

export function asksFor(p: Process): boolean {
  const items = attention.value.value?.items ?? [];
  return p.agent?.state === "waiting" || p.report?.state === "waiting" || items.some((i) => p.name !== undefined && i.source === p.name && i.kind !== "process" && i.kind !== "task");
}

const AGENT: Record<AgentState["state"], [string, Seen["tone"]]> = {
  starting: ["◐", "begin"], idle: ["○", "quiet"], working: ["●", "good"], waiting: ["!", "ask"], limited: ["◐", "ask"], error: ["!", "bad"], ended: ["■", "over"], lost: ["✕", "bad"],
};

/* What is said by somebody who knows: a hook, the agent itself. Bytes alone only tell that it prints or is quiet, which the time of its last output tells as well. */
function said(p: Process, now: number): Seen | null {
  const a = p.agent;
  if (!a || a.source === "output" || a.source === "os") return null;
  const [icon, tone] = AGENT[a.state];
  const word = a.state === "limited" && a.until ? w.states.limitedUntil(clock(a.until)) : a.state === "waiting" ? w.states.asks : w.states[a.state];
  const source = [w.states.source[a.source], w.ago(age(a.at, now)), a.doubt ? w.states.doubt(a.why ?? "") : ""].filter(Boolean).join(", ");
  return { icon, tone, word, since: a.since, source, isDoubtful: a.doubt };
}

export function seen(p: Process, now: number): Seen {
  const output = p.last_output ?? p.output;
  if (p.state === "starting" || p.state === "ending") return { icon: "◐", word: w.states[p.state], since: p.since, source: w.states.source.host, tone: "begin" };
  if (p.state === "ended" || p.state === "failed") {
    const word = p.exit_code ? w.states.endedWith(p.exit_code) : w.states[p.state];
    return { icon: "■", word, since: p.since, source: w.states.source.host, tone: p.exit_code || p.state === "failed" ? "bad" : "over" };
  }
  if (p.state === "lost" || p.state === "foreign") return { icon: "✕", word: w.states[p.state], since: p.since, source: w.states.source.host, tone: "bad" };
  const told = said(p, now);
  if (told?.tone === "ask") return told;
  if (asksFor(p)) return { icon: "!", word: w.states.asks, since: p.report?.state === "waiting" ? p.report.at : attention.value.value?.items.find((i) => i.source === p.name)?.since ?? output, source: w.states.source.attention, tone: "ask" };
  if (told) return told;
  if (p.report) return { icon: p.report.state === "error" ? "!" : "●", word: w.states[p.report.state], since: p.report.at, source: w.states.source.report, tone: p.report.state === "error" ? "bad" : "good" };
  if (output && now - Date.parse(output) > QUIET_MS) return { icon: "○", word: w.states.quiet, since: output, source: w.states.source.output, tone: "quiet" };
  return { icon: "●", word: w.states.running, since: p.since, source: w.states.source.host, tone: "good" };
}

export function StateMark({ state, now }: { state: Seen; now: number }) {
  return (
    <span class={`state tone-${state.tone}`} title={state.source}>
      <span class="icon" aria-hidden="true">{state.icon}</span> <span class="word">{state.word}{state.isDoubtful && <span class="doubt">?<span class="offscreen"> {w.states.maybe}</span></span>}</span> <span class="age">{age(state.since, now)}</span>
    </span>
  );
}

export function contract(p: Process): string {
  return w.contracts[p.owner] ?? p.owner;
}

export function folder(path: string, home: string): string {
  return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
