// SPDX-License-Identifier: MIT
// The page without a valid token: what happened, and the command that makes a new link. Nothing else is loaded.
import { useSignal } from "@preact/signals";
import type { Refusal } from "../lib/auth";
import { CommandLine, Field } from "../ui/parts";
import { w } from "../words";

export function Refused({ why }: { why: Refusal }) {
  const text = useSignal("");
  if (why === "tunnel") {
    return (
      <main class="refused" id="main">
        <h1>{w.refused.tunnel}</h1>
        <p>{w.refused.tunnelText}</p>
        <CommandLine line={w.refused.tunnelCommand} />
      </main>
    );
  }
  return (
    <main class="refused" id="main">
      <h1>{why === "invalid" ? w.refused.title : why === "code" ? w.refused.code : w.refused.none}</h1>
      <p>{w.refused.text}</p>
      <CommandLine line={w.refused.command} />
      <p>{w.refused.phone}</p>
      <CommandLine line={w.refused.phoneCommand} />
      <form onSubmit={(e) => (e.preventDefault(), sessionStorage.setItem("coop_token", text.value.trim()), location.reload())}>
        <Field label={w.refused.token}><input type="password" autocomplete="off" spellcheck={false} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} /></Field>
        <button class="primary" disabled={!text.value.trim()}>{w.refused.use}</button>
      </form>
    </main>
  );
}
