// SPDX-License-Identifier: MIT
// A new shell of a session: the one act that no operation of /rpc does, since the contract's own turns the connection into a stream. Its answer.
import { token } from "./auth";
import { LinkError } from "./rpc";
import { tunnel } from "./tunnel";

export async function makeShell(session: string): Promise<Record<string, unknown>> {
  if (tunnel) {
    const answer = await tunnel.command({ cmd: "shell", session });
    if (!answer) throw new LinkError();
    return answer;
  }
  const answer = await fetch(`/api/sessions/${encodeURIComponent(session)}/shell`, { method: "POST", headers: { Authorization: `Bearer ${token()}`, "Content-Type": "application/json" }, body: "{}" });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}
