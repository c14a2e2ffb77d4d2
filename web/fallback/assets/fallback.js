// SPDX-License-Identifier: MIT
// The page without the console: coop's sessions by REST, their output as text. Nothing of an agent becomes HTML.
"use strict";
const at = (id) => document.getElementById(id);
const fromAddress = new URLSearchParams(location.search).get("token");
if (fromAddress) {
  sessionStorage.setItem("coop_token", fromAddress);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("coop_token") || "";
const CSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]/g;
let socket = null;

function cell(row, text) {
  const td = row.insertCell();
  td.textContent = text;
  return td;
}

function show(name) {
  if (socket) socket.close();
  at("tail").hidden = false;
  at("name").textContent = name;
  at("text").textContent = "";
  const decoder = new TextDecoder();
  let text = "";
  const query = new URLSearchParams({ session: name, pty: "0", token });
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws?${query}`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = (e) => {
    text += typeof e.data === "string" ? "" : decoder.decode(e.data, { stream: true });
    text = text.slice(-65536);
    at("text").textContent = text.replace(CSI, "");
    at("text").scrollTop = at("text").scrollHeight;
  };
}

async function load() {
  const answer = await fetch("/api/sessions", { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) {
    at("state").textContent = answer.status === 403 ? "This link is no longer valid. `muster serve` prints a new one." : `The daemon answered ${answer.status}.`;
    return;
  }
  const body = await answer.json();
  const sessions = Array.isArray(body) ? body : body.sessions;
  at("rows").replaceChildren();
  for (const session of sessions) {
    const row = at("rows").insertRow();
    cell(row, session.name);
    cell(row, session.workspace);
    cell(row, String(session.pid));
    const button = document.createElement("button");
    button.textContent = "Show";
    button.onclick = () => show(session.name);
    cell(row, "").append(button);
  }
  at("state").textContent = `${sessions.length} sessions, as of ${new Date().toLocaleTimeString()}.`;
}

load().catch((e) => { at("state").textContent = String(e); });
