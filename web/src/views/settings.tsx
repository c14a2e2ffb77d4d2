// SPDX-License-Identifier: MIT
// Settings: what this device has chosen, and what the daemon is: where it listens, who has a link to it, its own examination.
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { forget, refusal } from "../lib/auth";
import { age, clock } from "../lib/clock";
import { call } from "../lib/link";
import { set, settings, type Settings } from "../lib/settings";
import { identity, info, isLive, scope } from "../lib/store";
import { Act, CommandLine, ErrorNote, Field, View } from "../ui/parts";
import { tunnel } from "../lib/tunnel";
import { w } from "../words";

function Check({ name, label }: { name: { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings]; label: string }) {
  return <label class="check"><input type="checkbox" checked={settings.value[name]} onChange={(e) => set(name, e.currentTarget.checked)} /> {label}</label>;
}

async function wantNotices(is: boolean): Promise<void> {
  if (is && typeof Notification !== "undefined" && Notification.permission !== "granted" && (await Notification.requestPermission()) !== "granted") return;
  set("notify", is);
}

function Notices() {
  const s = settings.value;
  const x = w.settings;
  const isDenied = typeof Notification !== "undefined" && Notification.permission === "denied";
  return (
    <fieldset><legend>{x.notices}</legend>
      <label class="check"><input type="checkbox" checked={s.notify} disabled={isDenied} onChange={(e) => void wantNotices(e.currentTarget.checked)} /> {x.notify}</label>
      {isDenied && <p class="note">{x.notifyDenied}</p>}
      {s.notify && (
        <>
          {(["message", "notice", "task", "process"] as const).map((kind) => <label key={kind} class="check sub"><input type="checkbox" checked={s.notifyKinds[kind] !== false} onChange={(e) => set("notifyKinds", { ...s.notifyKinds, [kind]: e.currentTarget.checked })} /> {w.needs.kinds[kind]}</label>)}
          <p class="quiet-hours"><Field label={x.quietFrom}><input type="time" value={s.quietFrom} onInput={(e) => set("quietFrom", e.currentTarget.value)} /></Field> <Field label={x.quietTo}><input type="time" value={s.quietTo} onInput={(e) => set("quietTo", e.currentTarget.value)} /></Field></p>
          <p class="note">{x.notifyHow}</p>
        </>
      )}
    </fieldset>
  );
}

interface InstallEvent extends Event {
  prompt(): Promise<unknown>;
}

/* The browser says when the page can be installed; that is offered here, and nowhere else. */
const installer = signal<InstallEvent | null>(null);
addEventListener("beforeinstallprompt", (e) => {
  e.preventDefault();
  installer.value = e as InstallEvent;
});

function Install() {
  return installer.value ? <p><button onClick={() => void installer.value?.prompt()}>{w.settings.install}</button></p> : null;
}

function Device() {
  const s = settings.value;
  const x = w.settings;
  return (
    <section aria-labelledby="set-device"><h2 id="set-device">{x.device}</h2>
      <div class="form">
        <Field label={x.theme}><select value={s.theme} onChange={(e) => set("theme", e.currentTarget.value as Settings["theme"])}><option value="system">{x.system}</option><option value="light">{x.light}</option><option value="dark">{x.dark}</option></select></Field>
        <Field label={`${x.font}: ${s.fontSize}`}><input type="range" min={8} max={28} value={s.fontSize} onInput={(e) => set("fontSize", Number(e.currentTarget.value))} /></Field>
        <Field label={x.keyBar}><select value={s.keyBar} onChange={(e) => set("keyBar", e.currentTarget.value as Settings["keyBar"])}><option value="auto">{x.auto}</option><option value="on">{x.on}</option><option value="off">{x.off}</option></select></Field>
        <Check name="letterKeys" label={x.letters} />
        <Check name="copyOnSelect" label={x.select} />
        <Check name="screenReader" label={x.reader} />
        <Check name="webgl" label={x.webgl} />
        {isSecureContext ? <Notices /> : <p class="note">{x.insecure}</p>}
        <Install />
        <p><button onClick={() => (forget(), (refusal.value = "none"))}>{x.signOut}</button></p>
      </div>
    </section>
  );
}

/* A file of the daemon, which in a tunnel has no address. */
function Licences() {
  const text = useSignal("");
  if (!tunnel) return <p><a href="/assets/licences.txt" target="_blank" rel="noopener">{w.settings.licences}</a></p>;
  return (
    <details onToggle={() => text.value || void tunnel?.text("/assets/licences.txt").then((t) => (text.value = t))}>
      <summary>{w.settings.licences}</summary>
      <pre tabIndex={0}>{text.value || w.loading}</pre>
    </details>
  );
}

function Daemon() {
  const d = info.value.value;
  const x = w.settings;
  const who = identity.value.value;
  if (!d) return null;
  return (
    <section aria-labelledby="set-daemon"><h2 id="set-daemon">{x.daemon}</h2>
      <dl class="pairs">
        <div><dt>{x.version}</dt><dd>{d.version}</dd></div>
        <div><dt>{x.started}</dt><dd>{clock(d.started_at)}, {w.ago(age(d.started_at))}</dd></div>
        <div><dt>{x.pid}</dt><dd>{d.pid}</dd></div>
        <div><dt>{x.home}</dt><dd><code>{d.home}</code></dd></div>
        <div><dt>{x.whoami}</dt><dd>{[who?.label ?? who?.principal, w.settings.scopes[scope.value]].filter(Boolean).map(String).join(", ")}</dd></div>
      </dl>
      <h3>{x.endpoints}</h3>
      <ul class="endpoints" role="list">{d.endpoints.map((e) => <li key={e.name}><strong>{e.name}</strong> <span>{e.state}</span> <code>{e.address}</code> <span class="note">{x.clients(e.clients)}</span>{e.warning && <span class="error">{e.warning}</span>}{e.reason && <span class="note">{e.reason}</span>}</li>)}</ul>
      <Licences />
    </section>
  );
}

interface TokenRow {
  id: string;
  label?: string;
  kind?: string;
  scope: string;
  object?: string;
  created?: string;
  used?: string | null;
  expires?: string | null;
}

function Links() {
  const rows = useSignal<TokenRow[] | null>(null);
  const error = useSignal<unknown>(null);
  const made = useSignal("");
  const form = useSignal({ label: "", scope: "view" });
  const load = () => void call<{ tokens: TokenRow[] }>("token.ls").then((r) => ((rows.value = r.tokens), (error.value = null)), (e: unknown) => (error.value = e));
  useEffect(() => {
    if (isLive.value && scope.value === "admin") load();
  }, [isLive.value, scope.value]);
  const x = w.settings;
  if (scope.value !== "admin") return null;
  const params = { label: form.value.label, scope: form.value.scope, code: true };
  return (
    <section aria-labelledby="set-links"><h2 id="set-links">{x.links}</h2>
      <ErrorNote error={error.value} />
      {rows.value?.length === 0 && <p>{x.noLinks}</p>}
      {rows.value && rows.value.length > 0 && (
        <table><thead><tr><th scope="col">{x.label}</th><th scope="col">{x.scope}</th><th scope="col">{x.used}</th><th scope="col">{x.expires}</th><th scope="col"><span class="offscreen">{w.acts.more}</span></th></tr></thead>
          <tbody>{rows.value.map((t) => <tr key={t.id}><td>{t.label || t.id}</td><td>{x.scopes[t.scope] ?? t.scope}{t.object ? ` · ${t.object}` : ""}</td><td>{t.used ? w.ago(age(t.used)) : x.never}</td><td>{t.expires ? clock(t.expires) : x.never}</td>
            <td class="c-acts"><Act label={x.revoke} method="token.revoke" params={{ id: t.id }} object={t.label || t.id} danger onDone={load} /></td></tr>)}</tbody></table>
      )}
      <div class="form inline">
        <Field label={x.label}><input value={form.value.label} onInput={(e) => (form.value = { ...form.value, label: e.currentTarget.value })} /></Field>
        <Field label={x.scope}><select value={form.value.scope} onChange={(e) => (form.value = { ...form.value, scope: e.currentTarget.value })}>{["view", "control", "admin"].map((s) => <option key={s} value={s}>{x.scopes[s]}</option>)}</select></Field>
        <Act label={x.create} method="token.create" params={params} onDone={(r) => ((made.value = `${location.origin}/#code=${(r as { token: string }).token}`), load())} />
      </div>
      {made.value && <><p role="status">{x.once}</p><CommandLine line={made.value} /></>}
    </section>
  );
}

interface CheckRow {
  name: string;
  state: string;
  text: string;
  path?: string;
}

const DOCTOR_TONES: Record<string, string> = { ok: "good", note: "quiet", warning: "ask", error: "bad" };

const DOCTOR_ICONS: Record<string, string> = { ok: "✓", note: "○", warning: "!", error: "✕" };

interface Server {
  address: string;
  state: string;
  reason?: string;
  warning?: string;
  scope: string;
  clients: number;
  since: string;
}

interface Setting {
  name: string;
  value: unknown;
  source: string;
  help: string;
}

/* What only somebody who may do everything is shown: other web servers, and settings with where each comes from. */
function Inside() {
  const servers = useSignal<Server[]>([]);
  const config = useSignal<Setting[]>([]);
  useEffect(() => {
    if (!isLive.value || scope.value !== "admin") return;
    call<{ servers: Server[] }>("web.ls").then((r) => (servers.value = r.servers), () => {});
    call<{ settings: Setting[] }>("config.show").then((r) => (config.value = r.settings), () => {});
  }, [isLive.value, scope.value]);
  const x = w.settings;
  return (
    <>
      {servers.value.length > 0 && <section aria-labelledby="set-servers"><h2 id="set-servers">{x.servers}</h2>
        <ul class="endpoints" role="list">{servers.value.map((s) => <li key={s.address}><code>{s.address}</code> <span>{s.state}</span> <span class="note">{x.scopes[s.scope] ?? s.scope}, {x.clients(s.clients)}, {w.ago(age(s.since))}</span>{(s.warning ?? s.reason) && <span class="error">{s.warning ?? s.reason}</span>}</li>)}</ul></section>}
      {config.value.length > 0 && <section aria-labelledby="set-config"><h2 id="set-config">{x.config}</h2>
        <table><thead><tr><th scope="col">{x.label}</th><th scope="col">{x.value}</th><th scope="col">{x.source}</th></tr></thead>
          <tbody>{config.value.map((c) => <tr key={c.name} title={c.help}><td><code>{c.name}</code></td><td>{c.value === null ? "–" : String(c.value)}</td><td>{c.source}</td></tr>)}</tbody></table></section>}
    </>
  );
}

function Doctor() {
  const rows = useSignal<CheckRow[]>([]);
  const x = w.settings;
  return (
    <section aria-labelledby="set-doctor"><h2 id="set-doctor">{x.doctor}</h2>
      <Act label={x.runDoctor} method="doctor" params={{}} needsControl={false} onDone={(r) => (rows.value = (r as { checks: CheckRow[] }).checks)} />
      <ul class="checks" role="list">{rows.value.map((c) => <li key={c.name}><strong>{c.name}</strong> <span class={`state tone-${DOCTOR_TONES[c.state] ?? "bad"}`}><span class="icon" aria-hidden="true">{DOCTOR_ICONS[c.state] ?? "✕"}</span> {c.state}</span> {c.text} {c.path && <code>{c.path}</code>}</li>)}</ul>
    </section>
  );
}

export function SettingsView() {
  return (
    <View title={w.views.settings} name="settings">
      <Device />
      <Daemon />
      <Links />
      <Inside />
      <Doctor />
    </View>
  );
}
