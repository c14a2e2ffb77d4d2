// SPDX-License-Identifier: MIT
// Needs you: everything that waits for a person, oldest first. An item ends once, for all devices; who was first is said.
import { useSignal } from "@preact/signals";
import { age, clock, now } from "../lib/clock";
import { call } from "../lib/link";
import { link } from "../lib/route";
import { CallError } from "../lib/rpc";
import { attention, findProcess, type Attention } from "../lib/store";
import { AgentText } from "../ui/agent-text";
import { Act, Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

interface Answered {
  answer?: string;
  by?: string;
  at?: string;
  is_first?: boolean;
}

function clientId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/* Where the item can be looked at: a terminal, a group or a project. */
function placeOf(item: Attention): string | null {
  const p = item.object ? findProcess(item.object) : undefined;
  if (p) return link("t", p.name ?? p.id);
  if (item.kind === "message" || item.kind === "notice") return item.owner ? link("chat", item.owner) : null;
  if (item.kind === "task") return link("tasks");
  return null;
}

function Item({ item }: { item: Attention }) {
  const said = useSignal<Answered | null>(null);
  const reply = useSignal("");
  const place = placeOf(item);
  const title = [item.source ?? item.owner, item.object].filter(Boolean).join(" · ");
  const choices = item.choices ?? [];
  const wantsText = choices.includes("reply");
  const done = (result: unknown) => {
    said.value = result as Answered;
    attention.want(1500);
  };
  return (
    <li class="need" data-row tabIndex={-1} data-kind={item.kind}>
      <header>
        <span class="need-kind">{w.needs.kinds[item.kind] ?? item.kind}</span>
        {place ? <a href={place}>{title}</a> : <span>{title}</span>}
        <span class="age">{age(item.since, now.value)}</span>
      </header>
      {item.text && <AgentText text={item.text} />}
      {said.value ? <p role="status">{said.value.is_first === false ? w.needs.notFirst(said.value.by ?? "") : w.needs.answered(said.value.by ?? w.needs.you, clock(said.value.at ?? Date.now()))}</p> : (
        <>
          {wantsText && <Field label={w.needs.reply}><textarea rows={2} value={reply.value} onInput={(e) => (reply.value = e.currentTarget.value)} /></Field>}
          <p class="buttons">
            {choices.map((choice, i) => (
              <Act key={choice} label={w.needs.choices[choice] ?? choice} method="attention.answer" params={{ id: item.id, choice, ...(choice === "reply" ? { text: reply.value } : {}) }} primary={i === 0}
                run={() => call("attention.answer", { id: item.id, choice, client_id: clientId(), ...(choice === "reply" ? { text: reply.value } : {}) })} onDone={done} />
            ))}
          </p>
        </>
      )}
    </li>
  );
}

export function Needs() {
  const items = attention.value.value;
  const failed = attention.failed.value;
  const isMissing = failed instanceof CallError && failed.code === -32601;
  return (
    <View title={w.views.needs} name="needs">
      {failed && (isMissing ? <Empty title={w.notThere("attention.ls")} /> : <ErrorNote error={failed} />)}
      {items && items.length === 0 && <Empty title={w.needs.none} how={w.needs.noneWhy} />}
      {items && items.length > 0 && <ul class="needs" role="list">{[...items].sort((a, b) => a.since.localeCompare(b.since)).map((i) => <Item key={i.id} item={i} />)}</ul>}
      {attention.at.value > 0 && <p class="foot"><span class="as-of">{w.asOf(clock(attention.at.value))}</span></p>}
    </View>
  );
}
