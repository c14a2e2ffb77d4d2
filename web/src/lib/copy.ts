// SPDX-License-Identifier: MIT
// The clipboard, also where its API is missing because the page came over plain HTTP.
export async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard && isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      /* Refused: the old way may still work. */
    }
  }
  const field = document.createElement("textarea");
  const focused = document.activeElement as HTMLElement | null;
  field.value = text;
  field.className = "offscreen";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return done;
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

/* The line of the command line that does what a control does. */
export function commandLine(method: string, params: object): string {
  const words = ["muster", "call", method.includes(".") && /^(cccc|coop|aiwg|agentcompany)\./.test(method) ? method : `native.${method}`];
  for (const [key, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (key === "project" && method.startsWith("aiwg.")) words.push("--project", quote(String(value)));
    else if (typeof value === "string") words.push(quote(`${key}=${value.startsWith("@") ? `@${value}` : value}`));
    else words.push(quote(`${key}:=${JSON.stringify(value)}`));
  }
  return words.join(" ");
}
