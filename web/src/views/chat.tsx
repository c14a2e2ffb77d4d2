// SPDX-License-Identifier: MIT
// Chat: the groups, what was said in them, and how far each message has come: stored, queued, handed, accepted, read, acknowledged, replied; where it hangs, why.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { clock } from "../lib/clock";
import { commandLine } from "../lib/copy";
import { call, onItem, onReset } from "../lib/link";
import { link, route } from "../lib/route";
import { canControl, isLive } from "../lib/store";
import { AgentText, visible } from "../ui/agent-text";
import { Act, Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

interface GroupRow {
  group_id?: string;
  title?: string;
  topic?: string;
  running: boolean;
  state: string;
}

interface Actor {
  id: string;
  title?: string;
  role: string;
  running: boolean;
  runtime?: string;
  unread_count?: number;
}

interface GroupEvent {
  id: string;
  ts: string;
  kind: string;
  by: string;
  data: { text?: string; to?: string[]; priority?: string; reply_to?: string; title?: string; message?: string; requires_ack?: boolean; src_group_id?: string; [key: string]: unknown };
}

interface Recipient {
  actor_id: string;
  fact?: string;
  why?: string;
  queued?: string;
  handed?: string;
  accepted?: string;
  read?: boolean;
  acknowledged?: string;
  replied?: string;
}

interface Mail {
  mailboxes: { actor_id: string; why: string; program?: string; queued: { event_id: string; since: string }[] }[];
  messages: { event_id: string; recipients: Recipient[] }[];
}

const PAGE = 100;
const RUNGS = ["stored", "queued", "handed", "accepted", "read", "acknowledged", "replied"] as const;

function reached(rung: (typeof RUNGS)[number], r: Recipient): boolean {
  if (rung === "stored") return true;
  return rung === "read" ? r.read === true : r[rung] !== undefined;
}

function Ladder({ r, isUrgent }: { r: Recipient; isUrgent: boolean }) {
  const rungs = RUNGS.filter((rung) => (rung !== "acknowledged" || isUrgent || r.acknowledged) && (rung !== "replied" || r.replied) && (rung !== "queued" || !r.handed));
  return (
    <span class="ladder">
      <span class="ladder-who">{r.actor_id}</span>
      {rungs.map((rung) => {
        const is = reached(rung, r);
        return <span key={rung} class={is ? "rung yes" : "rung"}>{w.chat.rungs[rung]} <span aria-label={is ? w.chat.rungYes : w.chat.rungNo}>{is ? "✓" : "–"}</span></span>;
      })}
      {r.why && !r.accepted && <span class="why">{r.why}</span>}
    </span>
  );
}

/* Whom an event of the group is about. */
function subject(e: GroupEvent): string {
  const actor = e.data.actor as { id?: string } | undefined;
  return visible(String(e.data.actor_id ?? actor?.id ?? ""));
}

interface MessageProps {
  e: GroupEvent;
  group: string;
  mail: Recipient[];
  waits: { actor: string; why: string; since: string }[];
  isMarked: boolean;
  onReply: (e: GroupEvent) => void;
  acked: boolean;
}

function Message({ e, group, mail, waits, isMarked, onReply, acked }: MessageProps) {
  const isMine = e.by === "user";
  const isUrgent = e.data.priority === "attention" || e.data.requires_ack === true;
  const to = e.data.to?.length ? e.data.to.join(", ").replace(/@all/g, w.chat.everyone) : w.chat.everyone;
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isMarked) element.current?.scrollIntoView({ block: "center" });
  }, [isMarked]);
  if (e.kind !== "chat.message" && e.kind !== "system.notify") {
    return <li class="chat-system" id={`e-${e.id}`}><span>{w.chat.did(e.by === "user" ? w.needs.you : e.by, w.chat.system[e.kind] ?? e.kind, subject(e))}</span> <time dateTime={e.ts}>{clock(e.ts)}</time></li>;
  }
  return (
    <li ref={element} class={`message ${isMine ? "mine" : ""} ${isMarked ? "marked" : ""}`} id={`e-${e.id}`}>
      <header>
        <strong>{isMine ? w.needs.you : e.by}</strong> → {to} {isUrgent && <span class="urgent">! {w.chat.urgent}</span>} {e.kind === "system.notify" && <span class="note">{w.chat.system[e.kind]}</span>}
        <a class="when" href={link("chat", group, e.id)}><time dateTime={e.ts}>{clock(e.ts)}</time></a>
      </header>
      {e.data.title && <p><strong>{e.data.title}</strong></p>}
      <AgentText text={e.data.text ?? e.data.message ?? ""} />
      {mail.length > 0 && <p class="ladders">{mail.map((r) => <Ladder key={r.actor_id} r={r} isUrgent={isUrgent} />)}</p>}
      {waits.map((x) => <p key={x.actor} class="waits">{w.chat.waits(x.actor, x.why, clock(x.since))}</p>)}
      {canControl.value && (
        <p class="buttons">
          {e.kind === "chat.message" && <button class="quiet" onClick={() => onReply(e)}>{w.chat.reply}</button>}
          {!isMine && isUrgent && (acked ? <span class="note">{w.chat.acked}</span> : e.kind === "chat.message"
            ? <Act label={w.chat.ack} method="cccc.chat_ack" params={{ group_id: group, actor_id: "user", event_id: e.id }} />
            : <Act label={w.chat.ack} method="cccc.notify_ack" params={{ group_id: group, actor_id: "user", notify_event_id: e.id, by: "user" }} />)}
        </p>
      )}
    </li>
  );
}

function Composer({ group, actors, replyTo, onSent }: { group: string; actors: Actor[]; replyTo: GroupEvent | null; onSent: () => void }) {
  const text = useSignal("");
  const to = useSignal("");
  const isUrgent = useSignal(false);
  const error = useSignal<unknown>(null);
  const busy = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (replyTo) {
      field.current?.focus();
      to.value = replyTo.by === "user" ? "" : replyTo.by;
    }
  }, [replyTo]);
  const send = async () => {
    if (!text.value.trim() || busy.value) return;
    busy.value = true;
    error.value = null;
    const common = { group_id: group, text: text.value, ...(to.value ? { to: [to.value] } : {}), ...(isUrgent.value ? { priority: "attention" } : {}) };
    try {
      if (replyTo) await call("cccc.reply", { ...common, reply_to: replyTo.id });
      else await call("cccc.send", common);
      text.value = "";
      isUrgent.value = false;
      onSent();
    } catch (e) {
      error.value = e;
    } finally {
      busy.value = false;
    }
  };
  if (!canControl.value) return <p class="note">{w.scopeTooSmall}</p>;
  return (
    <form class="composer" onSubmit={(e) => (e.preventDefault(), void send())}>
      {replyTo && <p class="note">{w.chat.replyTo(replyTo.by)} <button type="button" class="quiet" onClick={onSent}>{w.cancel}</button></p>}
      <Field label={w.chat.to}><select value={to.value} onChange={(e) => (to.value = e.currentTarget.value)}><option value="">{w.chat.everyone}</option>{actors.map((a) => <option key={a.id} value={a.id}>{a.title || a.id}</option>)}</select></Field>
      <textarea ref={field} rows={2} aria-label={w.chat.message} placeholder={w.chat.message} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)}
        onKeyDown={(e) => e.key === "Enter" && (e.ctrlKey || e.metaKey || !e.shiftKey) && !e.isComposing && (e.preventDefault(), void send())} />
      <label class="check"><input type="checkbox" checked={isUrgent.value} onChange={(e) => (isUrgent.value = e.currentTarget.checked)} /> {w.chat.urgent}</label>
      <button class="primary" disabled={!isLive.value || busy.value} data-command={commandLine(replyTo ? "cccc.reply" : "cccc.send", { group_id: group, text: text.value, ...(to.value ? { to: [to.value] } : {}), ...(replyTo ? { reply_to: replyTo.id } : {}) })}>{w.acts.send}</button>
      <ErrorNote error={error.value} />
    </form>
  );
}

interface Shared {
  vision?: string | null;
  sketch?: string | null;
  milestones?: { id: string; name: string; status: string }[];
  notes?: { id: string; content: string }[];
  tasks_summary?: { total?: number; done?: number };
}

/* What the group shares, asked for when it is looked at. */
function Context({ group }: { group: string }) {
  const shared = useSignal<Shared | null>(null);
  const error = useSignal<unknown>(null);
  const load = (isOpen: boolean) => {
    if (isOpen) call<Shared>("cccc.context_get", { group_id: group }).then((r) => ((shared.value = r), (error.value = null)), (e: unknown) => (error.value = e));
  };
  const s = shared.value;
  const isEmpty = s && !s.vision && !s.sketch && !s.milestones?.length && !s.notes?.length;
  return (
    <details class="context" onToggle={(e) => load(e.currentTarget.open)}><summary>{w.chat.context}</summary>
      <ErrorNote error={error.value} />
      {isEmpty && <p class="note">{w.chat.noContext}</p>}
      {s?.vision && <AgentText text={s.vision} />}
      {s?.sketch && <AgentText text={s.sketch} />}
      {s?.milestones && s.milestones.length > 0 && <ul role="list">{s.milestones.map((m) => <li key={m.id}><strong>{visible(m.name)}</strong> <span class="note">{m.status}</span></li>)}</ul>}
      {s?.notes && s.notes.length > 0 && <ul>{s.notes.map((n) => <li key={n.id}>{visible(n.content)}</li>)}</ul>}
      {s?.tasks_summary?.total ? <p class="note">{w.chat.contextTasks(s.tasks_summary.done ?? 0, s.tasks_summary.total)}</p> : null}
    </details>
  );
}

function Conversation({ group, marked }: { group: GroupRow; marked: string }) {
  const id = group.group_id ?? "";
  const events = useSignal<GroupEvent[] | null>(null);
  const mail = useSignal<Mail | null>(null);
  const actors = useSignal<Actor[]>([]);
  const hasOlder = useSignal(false);
  const error = useSignal<unknown>(null);
  const replyTo = useSignal<GroupEvent | null>(null);
  const end = useRef<HTMLLIElement>(null);
  const timer = useRef<number | undefined>(undefined);
  const load = async () => {
    try {
      const [e, m, a] = await Promise.all([
        call<{ events: GroupEvent[] }>("group.events", { group: id, limit: PAGE }), call<Mail>("group.mail", { group: id, limit: PAGE }), call<{ actors: Actor[] }>("cccc.actor_list", { group_id: id, include_unread: true }),
      ]);
      const old = events.peek() ?? [];
      const first = e.events[0]?.id;
      const at = old.findIndex((x) => x.id === first);
      events.value = at > 0 ? [...old.slice(0, at), ...e.events] : e.events;
      if (old.length === 0) hasOlder.value = e.events.length === PAGE;
      mail.value = m;
      actors.value = a.actors;
      error.value = null;
    } catch (x) {
      error.value = x;
    }
  };
  const older = async () => {
    const first = events.value?.[0]?.id;
    if (!first) return;
    try {
      const e = await call<{ events: GroupEvent[] }>("group.events", { group: id, limit: PAGE, before: first });
      const known = new Set((events.value ?? []).map((x) => x.id));
      const fresh = e.events.filter((x) => !known.has(x.id));
      hasOlder.value = fresh.length > 0;
      events.value = [...fresh, ...(events.value ?? [])];
    } catch (x) {
      error.value = x;
    }
  };
  useEffect(() => {
    void load();
    const want = () => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void load(), 150) as unknown as number;
    };
    const stops = [onItem((i) => i.domain === "collab" && i.owner === id && want()), onReset(want)];
    return () => {
      clearTimeout(timer.current);
      stops.forEach((stop) => stop());
    };
  }, [id]);
  const last = events.value?.[events.value.length - 1]?.id;
  useEffect(() => {
    if (!marked) end.current?.scrollIntoView({ block: "end" });
  }, [last]);
  const acked = new Set((events.value ?? []).filter((e) => (e.kind === "chat.ack" || e.kind === "system.notify_ack") && e.by === "user").map((e) => String(e.data.event_id ?? e.data.notify_event_id)));
  const shown = (events.value ?? []).filter((e) => !["chat.read", "chat.ack", "system.notify_ack"].includes(e.kind));
  const mailOf = (e: GroupEvent) => mail.value?.messages.find((m) => m.event_id === e.id)?.recipients.filter((r) => r.actor_id !== e.by) ?? [];
  const waitsOf = (e: GroupEvent) => (mail.value?.mailboxes ?? []).flatMap((m) => m.queued.filter((q) => q.event_id === e.id).map((q) => ({ actor: m.actor_id, why: m.program ? `${m.why}: ${m.program}` : m.why, since: q.since })));
  return (
    <div class="conversation">
      <header class="chat-head">
        <h2>{group.title || id}</h2>
        <Field label={w.chat.setState}><select value={group.state} disabled={!canControl.value || !isLive.value} title={canControl.value ? commandLine("cccc.group_set_state", { group_id: id, state: group.state }) : w.scopeTooSmall} data-command={commandLine("cccc.group_set_state", { group_id: id, state: group.state })} onChange={(e) => void call("cccc.group_set_state", { group_id: id, state: e.currentTarget.value }).catch((x: unknown) => (error.value = x))}>{["active", "idle", "paused"].map((s) => <option key={s} value={s}>{w.chat.states[s]}</option>)}</select></Field>
        {group.running ? <Act label={w.chat.stopGroup} method="cccc.group_stop" params={{ group_id: id }} object={group.title || id} danger /> : <Act label={w.chat.startGroup} method="cccc.group_start" params={{ group_id: id }} object={group.title || id} />}
        <ul class="actors" role="list" aria-label={w.chat.actors}>{actors.value.map((a) => <li key={a.id}><a href={link("t", `actor:${id}/${a.id}`)}><span aria-hidden="true">{a.running ? "●" : "○"}</span> {a.title || a.id}</a> <span class="note">{a.running ? w.chat.running : w.chat.stopped}{a.unread_count ? `, ${w.chat.unread(a.unread_count)}` : ""}</span></li>)}</ul>
      </header>
      <ErrorNote error={error.value} />
      <Context group={id} />
      <ol class="messages" role="list" aria-label={w.chat.message}>
        {hasOlder.value && <li><button onClick={() => void older()}>{w.chat.older}</button></li>}
        {shown.map((e) => <Message key={e.id} e={e} group={id} mail={mailOf(e)} waits={waitsOf(e)} isMarked={e.id === marked} onReply={(x) => (replyTo.value = x)} acked={acked.has(e.id)} />)}
        <li ref={end} class="end" aria-hidden="true" />
      </ol>
      {events.value && shown.length === 0 && <Empty title={w.chat.empty} />}
      <Composer group={id} actors={actors.value} replyTo={replyTo.value} onSent={() => ((replyTo.value = null), void load())} />
    </div>
  );
}

export function Chat() {
  const groups = useSignal<GroupRow[] | null>(null);
  const error = useSignal<unknown>(null);
  const [chosen, marked] = route.value.parts;
  useEffect(() => {
    const load = () => call<{ groups: GroupRow[] }>("cccc.groups").then((r) => ((groups.value = r.groups), (error.value = null)), (e: unknown) => (error.value = e));
    if (isLive.peek()) void load();
    const stops = [onReset(() => void load()), onItem((i) => i.domain === "collab" && i.kind.startsWith("group.") && void load())];
    return () => stops.forEach((stop) => stop());
  }, []);
  const group = groups.value?.find((g) => g.group_id === chosen) ?? (chosen ? undefined : groups.value?.[0]);
  return (
    <View title={w.views.chat} name="chat" wide>
      {!groups.value && <ErrorNote error={error.value} />}
      {groups.value?.length === 0 && <Empty title={w.chat.none} how={w.chat.noneHow} command={w.chat.noneCommand} />}
      {groups.value && groups.value.length > 0 && (
        <div class="chat">
          <nav class={`groups groups-${groups.value.length}`} aria-label={w.chat.groups}><ul role="list">{groups.value.map((g) => <li key={g.group_id}><a data-row href={link("chat", g.group_id ?? "")} aria-current={g === group ? "true" : undefined}>{g.title || g.group_id} <span class="note">{w.chat.states[g.state] ?? g.state}</span></a></li>)}</ul></nav>
          {group ? <Conversation key={group.group_id} group={group} marked={marked ?? ""} /> : <Empty title={w.chat.pick} />}
        </div>
      )}
    </View>
  );
}

