// SPDX-License-Identifier: MIT
// Small parts that every view uses: buttons that know their command line and ask for a second press, errors at the control that caused them, empty states.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { commandLine, copy } from "../lib/copy";
import { call } from "../lib/link";
import { CallError, LinkError } from "../lib/rpc";
import { canControl, isLive } from "../lib/store";
import { w } from "../words";

export function errorText(e: unknown): string {
  if (e instanceof LinkError) return w.errorLink;
  if (e instanceof CallError && e.code === -32601) return w.notThere(e.method);
  if (e instanceof CallError) return `${w.error(e.code)}: ${e.message}`;
  return String(e);
}

export function ErrorNote({ error }: { error: unknown }) {
  return error ? <p class="error" role="alert">{errorText(error)}</p> : null;
}

/* One sentence, and the line that changes it. */
export function Empty({ title, how, command, children }: { title: string; how?: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {how && <p>{how}</p>}
      {command && <CommandLine line={command} />}
      {children}
    </div>
  );
}

export function CommandLine({ line }: { line: string }) {
  const said = useSignal(false);
  return (
    <p class="command">
      <code>{line}</code>
      <button class="quiet" onClick={() => void copy(line).then((ok) => (said.value = ok))}>{said.value ? w.copied : w.acts.copy}</button>
    </p>
  );
}

interface ActProps {
  label: string;
  method: string;
  params: object;
  /* The line of the command line, where it is no plain call of the method. */
  line?: string;
  object?: string;
  danger?: boolean;
  primary?: boolean;
  needsControl?: boolean;
  run?: () => Promise<unknown>;
  onDone?: (result: unknown) => void;
  hotkey?: string;
}

/* Why an act cannot be done, in words, or "". */
export function hindrance(needsControl = true): string {
  return needsControl && !canControl.value ? w.scopeTooSmall : !isLive.value ? w.notLive : "";
}

/* A button that carries out one operation. A dangerous one names its object and wants a second press within five seconds; one that cannot be done says why. */
export function Act({ label, method, params, line, object = "", danger = false, primary = false, needsControl = true, run, onDone, hotkey }: ActProps) {
  const armed = useSignal(false);
  const error = useSignal<unknown>(null);
  const busy = useSignal(false);
  const isAsked = useSignal(false);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const why = hindrance(needsControl);
  const press = async () => {
    isAsked.value = why !== "";
    if (why || busy.value) return;
    if (danger && !armed.value) {
      armed.value = true;
      timer.current = setTimeout(() => (armed.value = false), 5000) as unknown as number;
      return;
    }
    clearTimeout(timer.current);
    armed.value = false;
    busy.value = true;
    error.value = null;
    try {
      const result = await (run ? run() : call(method, params));
      onDone?.(result);
    } catch (e) {
      error.value = e;
    } finally {
      busy.value = false;
    }
  };
  const name = armed.value ? w.acts.sure(label, object) : label;
  const command = line ?? commandLine(method, params);
  return (
    <span class="act">
      <button type="button" class={`${danger ? "danger" : ""} ${primary ? "primary" : ""} ${armed.value ? "armed" : ""}`} aria-disabled={why !== "" || busy.value} title={why || command} data-command={command}
        aria-label={object && !armed.value ? `${label} ${object}` : undefined} data-hotkey={hotkey} onClick={() => void press()} onBlur={() => (armed.value = false)}
        onKeyDown={(e) => e.key === "Escape" && armed.value && ((armed.value = false), e.stopPropagation())}>{name}</button>
      {isAsked.value && why && <span class="note" role="status">{why}</span>}
      <ErrorNote error={error.value} />
    </span>
  );
}

export function CopyCommand({ line }: { line: string }) {
  const said = useSignal(false);
  return <button class="quiet" title={line} onClick={() => void copy(line).then((ok) => (said.value = ok))}>{said.value ? w.copied : w.acts.copyCommand}</button>;
}

/* A way to a form that a link which only watches has no use for: there, but switched off, with the reason. */
export function WayToNew() {
  return canControl.value ? <a class="button primary" href="#/new">+ {w.views.new}</a> : <button class="primary" aria-disabled="true" title={w.scopeTooSmall}>+ {w.views.new}<span class="offscreen"> {w.scopeTooSmall}</span></button>;
}

/* A view has one heading; what is beside it belongs to the whole view. */
export function View({ title, bar, children, name, wide = false }: { title: string; bar?: ComponentChildren; children?: ComponentChildren; name: string; wide?: boolean }) {
  return (
    <section class={`view view-${name} ${wide ? "wide" : ""}`} aria-labelledby="view-title">
      <header class="view-head">
        <h1 id="view-title" tabIndex={-1}>{title}</h1>
        {bar}
      </header>
      {children}
    </section>
  );
}

/* Something that floats above the page: Escape and a press beside it close it, the focus goes back to where it was. */
export function Dialog({ title, onClose, children, name }: { title: string; onClose: () => void; children: ComponentChildren; name: string }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus();
  }, []);
  return (
    <dialog ref={box} class={`dialog dialog-${name}`} aria-label={title} onClose={onClose} onClick={(e) => e.target === box.current && onClose()}>
      <div class="dialog-in">{children}</div>
    </dialog>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return <label class="field"><span>{label}</span>{children}</label>;
}
