// SPDX-License-Identifier: MIT
// The official TypeScript SDKs against `muster mcp`: mcp_sdk.mjs SDK MODULES MUSTER SOCKET GROUP, where SDK is v1, v2 (legacy) or v2-auto.
// With an http:// address in the place of MUSTER and a token in that of SOCKET: against POST /mcp of a web server.
// Prints one line for each check, "ok NAME" or "no NAME: why", and ends with status 1 if one failed.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [sdk, modules, muster, socket, group] = process.argv.slice(2);
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const patient = { timeout: 600000 }; // a machine may have much else to do
const isHttp = muster.startsWith("http://");
let failed = 0;

function check(name, truth, what) {
  console.log(truth ? `ok ${name}` : `no ${name}: ${JSON.stringify(what)}`);
  failed += truth ? 0 : 1;
}

async function open(actor) {
  const { Client } = await load(sdk === "v1" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
  const { StdioClientTransport } = await load(sdk === "v1" ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
  const options = sdk === "v2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "test", version: "1" }, { capabilities: {}, ...options });
  if (isHttp) {
    const { StreamableHTTPClientTransport } = await load(sdk === "v1" ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");
    const address = new URL(`${muster}/mcp?group=${group}&actor=${actor}`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers: { Authorization: "Bearer " + socket } } }), patient);
    return client;
  }
  const env = actor ? { CCCC_GROUP_ID: group, CCCC_ACTOR_ID: actor } : {};
  await client.connect(new StdioClientTransport({ command: muster, args: ["mcp", "--socket", socket], env: { ...process.env, CCCC_GROUP_ID: "", CCCC_ACTOR_ID: "", ...env } }), patient);
  return client;
}

async function refused(name, call, ...codes) {
  try {
    check(name, false, await call());
  } catch (error) {
    check(name, codes.includes(error.code), String(error));
  }
}

const alice = await open("alice"), bob = await open("bob");
const callTool = (client, params, options) => client.callTool(params, ...(sdk === "v1" ? [undefined] : []), { ...patient, ...options });
const call = async (client, name, args) => callTool(client, { name, arguments: args ?? {} });

check("server", alice.getServerVersion?.()?.name === "muster", alice.getServerVersion?.());
check("instructions", (alice.getInstructions?.() ?? "").includes("cccc_inbox_list"), alice.getInstructions?.());
const { tools } = await alice.listTools(undefined, patient);
check("tools", tools.length === 66, tools.length);
for (const tool of tools) {
  const described = Object.values(tool.inputSchema.properties ?? {}).every((one) => one.description);
  check("schema of " + tool.name, tool.inputSchema.type === "object" && tool.outputSchema?.type === "object" && tool.description && described, tool);
}
for (const tool of tools.filter((one) => one.annotations?.readOnlyHint && !one.inputSchema.required && !/debug|headless|wait/.test(one.name))) {
  const answer = await call(alice, tool.name);
  check(tool.name, !answer.isError && answer.structuredContent, answer);
}
const sent = await call(alice, "cccc_message_send", { text: "hello", to: ["bob"] });
const id = sent.structuredContent.event.id;
check("sent", sent.structuredContent.event.by === "alice", sent);
const inbox = await call(bob, "cccc_inbox_list", { kind_filter: "chat" });
check("inbox", inbox.structuredContent.messages.some((one) => one.id === id), inbox);
const reply = await call(bob, "cccc_message_reply", { event_id: id, text: "hello, too" });
check("reply", reply.structuredContent.event.data.reply_to === id, reply);
const wrong = await call(bob, "cccc_message_reply", { event_id: "nosuch", text: "x" });
check("error", wrong.isError && JSON.parse(wrong.content[0].text).error.code === "event_not_found", wrong);
const other = await call(bob, "cccc_inbox_list", { actor_id: "alice" });
check("identity", other.isError && JSON.parse(other.content[0].text).error.code === "actor_id_mismatch", other);
await refused("unknown tool", () => call(bob, "nosuch"), -32602);
await refused("unknown resource", () => alice.readResource({ uri: "muster://nosuch" }, patient), -32002, ...(sdk === "v2-auto" ? [-32602] : [])); // who finds out in time speaks the new revision
await refused("unknown prompt", () => alice.getPrompt({ name: "nosuch" }, patient), -32602);
check("resources", (await alice.listResources(undefined, patient)).resources.length >= 2);
check("templates", (await alice.listResourceTemplates(undefined, patient)).resourceTemplates.length >= 4);
check("read", JSON.parse((await alice.readResource({ uri: "muster://group/" + group }, patient)).contents[0].text).group.group_id === group);
check("prompts", (await alice.listPrompts(undefined, patient)).prompts.length === 5);
check("prompt", (await alice.getPrompt({ name: "review", arguments: { task: "T001" } }, patient)).messages.length === 1);
const many = await Promise.all(Array.from({ length: 40 }, () => call(alice, "cccc_actor_list")));
check("many", many.every((one) => one.structuredContent.actors.length === 2));
const stop = new AbortController();
const waiting = callTool(alice, { name: "muster_wait", arguments: { timeout_s: 3600, on: ["nowhere"] } }, { signal: stop.signal });
stop.abort();
check("cancelled", await waiting.then(() => false, () => true));
check("after it", !(await call(alice, "muster_whoami")).isError);
const uri = `muster://group/${group}/inbox/bob`, updates = [];
const told = (one) => updates.push(one.params.uri);
if (sdk === "v1") bob.setNotificationHandler((await load("@modelcontextprotocol/sdk/types.js")).ResourceUpdatedNotificationSchema, told);
else bob.setNotificationHandler("notifications/resources/updated", told);
const listening = await (bob.listen ? bob.listen({ resourceSubscriptions: [uri, "muster://nosuch"] }, patient).catch(() => undefined) : undefined); // the new revision, if that is what was found
if (listening) check("listen", JSON.stringify(listening.honoredFilter.resourceSubscriptions) === JSON.stringify([uri]), listening.honoredFilter);
else if (isHttp) await refused("subscribe", () => bob.subscribeResource({ uri }, patient), -32601, "CAPABILITY_NOT_SUPPORTED"); // nobody can be told between two requests
else check("subscribe", (await bob.subscribeResource({ uri }, patient)) && true);
await call(alice, "cccc_message_send", { text: "news", to: ["bob"] });
if (listening || !isHttp) for (let i = 0; i < 6000 && !updates.length; i++) await new Promise((done) => setTimeout(done, 10));
if (listening || !isHttp) check("updated", updates[0] === uri, updates);
let heard = 0;
const soon = await callTool(alice, { name: "muster_wait", arguments: { timeout_s: 1, on: ["nowhere"] } }, { onprogress: () => heard++ });
check("progress", soon.structuredContent.timed_out && heard > 0, [soon, heard]);
const asked = await callTool(alice, { name: "muster_ask", arguments: { title: "Go on?", timeout_s: 1 } }, { onprogress: () => heard++ });
check("a question that is pending", asked.structuredContent.outcome === "approval_pending" && asked.structuredContent.approval.state === "open", asked);
const later = await call(alice, "muster_ask", { id: asked.structuredContent.approval.id, timeout_s: 0 });
check("the same by its id", JSON.stringify(later.structuredContent ?? later).includes(asked.structuredContent.approval.id), later);
if (listening) await listening.close();
else if (!isHttp) check("unsubscribe", (await bob.unsubscribeResource({ uri }, patient)) && true);
await alice.close();
await bob.close();
process.exit(failed ? 1 : 0);
