// SPDX-License-Identifier: MIT
// Needs you: everything that waits for a person, oldest first. An item ends once, for all devices; who was first is said.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { age, clock, now } from "../lib/clock";
import { call } from "../lib/link";
import { CallError } from "../lib/rpc";
import { attention, shorten, type Attention } from "../lib/store";
import { AgentText, visible } from "../ui/agent-text";
import { Act, Empty, ErrorNote, View } from "../ui/parts";
import { placeOf } from "../ui/place";
import { w } from "../words";

interface Answered {
  item: Attention;
  is_first: boolean;
}

/* The same key again asks whether this page was the first: a link that broke before the answer does no harm. */
const keys = new Map<string, string>();
function clientId(what: string): string {
  const made = keys.get(what) ?? Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
  keys.set(what, made);
  return made;
}

/* What is decided on, whole; an answer names its digest, so the buttons come with it. */
interface Approval {
  digest: string;
  body?: string;
  evidence: Record<string, unknown>;
  options: { id: string; label: string }[];
}

function useApproval(item: Attention) {
  const approval = useSignal<Approval | null>(null);
  const failed = useSignal<unknown>(null);
  useEffect(() => {
    if (item.kind === "approval")
      call("approval.get", { id: item.object }).then((r) => (approval.value = (r as { approval: Approval }).approval), (e) => (failed.value = e));
  }, [item.id]);
  return { approval: approval.value, failed: failed.value };
}

function Item({ item }: { item: Attention }) {
  const said = useSignal<Answered | null>(null);
  const place = placeOf(item);
  const title = shorten(item.source) || item.object;
  const answer = said.value?.item.answer ?? item.answer;
  const { approval, failed } = useApproval(item);
  const choices = item.kind !== "approval" ? item.choices : approval ? approval.options.map((o) => o.id) : [];
  const labels = new Map((approval?.options ?? []).map((o) => [o.id, o.label]));
  return (
    <li class="need" data-row tabIndex={-1} data-kind={item.kind}>
      <header>
        <span class="need-kind">{w.needs.kinds[item.kind] ?? item.kind}</span>
        {place ? <a href={place}>{title}</a> : <span>{title}</span>}
        <span class="age">{age(item.since, now.value)}</span>
      </header>
      {item.text && <AgentText text={item.text} />}
      {approval?.body && <AgentText text={approval.body} />}
      {approval && Object.keys(approval.evidence).length > 0 && <pre class="evidence">{visible(JSON.stringify(approval.evidence, null, 2))}</pre>}
      {failed !== null && <ErrorNote error={failed} />}
      {said.value ? <p role="status">{said.value.is_first ? w.needs.answered(w.needs.you, clock(answer?.at ?? Date.now())) : w.needs.notFirst(answer?.by ?? "")}</p> : (
        <p class="buttons">
          {choices.map((choice, i) => (
            <Act key={choice} label={labels.get(choice) ?? w.needs.choices[choice] ?? choice} method="attention.answer" params={{ id: item.id, choice }} object={title} primary={i === 0 && choice !== "dismiss"}
              run={() => call("attention.answer", { id: item.id, choice, client_id: clientId(`${item.id} ${choice}`), ...(approval ? { digest: approval.digest } : {}) })} onDone={(r) => ((said.value = r as Answered), attention.want(1500))} />
          ))}
          {(item.kind === "message") && place && <a class="button" href={place}>{w.needs.choices.reply}</a>}
        </p>
      )}
    </li>
  );
}

export function Needs() {
  const items = attention.value.value?.items;
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
