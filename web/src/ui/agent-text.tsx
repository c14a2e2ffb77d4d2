// SPDX-License-Identifier: MIT
// Text of agents as DOM nodes: fences, code, lists and links, nothing else, and never HTML. A link shows where it leads before it is followed.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Dialog } from "./parts";
import { w } from "../words";

const target = signal<string | null>(null);

export function LinkQuestion() {
  const address = target.value;
  if (!address) return null;
  const close = () => (target.value = null);
  return (
    <Dialog title={w.term.linkTitle} onClose={close} name="question">
      <h2>{w.term.linkTitle}</h2>
      <pre class="question-text">{address}</pre>
      <p class="buttons">
        <button class="primary" autofocus onClick={() => (window.open(address, "_blank", "noopener,noreferrer"), close())}>{w.term.linkGo}</button>
        <button onClick={close}>{w.cancel}</button>
      </p>
    </Dialog>
  );
}

/* Control characters and those that turn or hide text are shown, not obeyed. */
export function visible(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

const INLINE = /(`[^`\n]+`)|(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/g;

function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(INLINE)) {
    out.push(text.slice(at, m.index));
    const address = m[2];
    out.push(m[1] ? <code>{m[1].slice(1, -1)}</code> : <button class="linklike" type="button" onClick={() => (target.value = address ?? null)}>{address}</button>);
    at = (m.index ?? 0) + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

function paragraph(lines: string[], key: number): ComponentChildren {
  if (lines.every((l) => /^\s*([-*•]|\d+[.)])\s/.test(l))) return <ul key={key}>{lines.map((l, i) => <li key={i}>{inline(l.replace(/^\s*([-*•]|\d+[.)])\s/, ""))}</li>)}</ul>;
  return <p key={key}>{lines.map((l, i) => [i > 0 && <br />, inline(l)])}</p>;
}

export function AgentText({ text }: { text: string }) {
  const out: ComponentChildren[] = [];
  const parts = visible(text).split(/^```[^\n]*$/m);
  parts.forEach((part, i) => {
    if (i % 2) {
      out.push(<pre key={`f${i}`} tabIndex={0}>{part.replace(/^\n|\n$/g, "")}</pre>);
      return;
    }
    part.split(/\n{2,}/).forEach((block, j) => {
      const lines = block.split("\n").filter((l) => l.trim() !== "");
      if (lines.length) out.push(paragraph(lines, i * 1000 + j));
    });
  });
  return <div class="agent-text">{out}</div>;
}
