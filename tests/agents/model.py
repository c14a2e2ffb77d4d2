# SPDX-License-Identifier: MIT
"""A model on loopback for real agent programs: it speaks the three published ways of asking one, and does what the last prompt of a person says.

  STEP run COMMAND   calls the program's own tool for commands, once   STEP say TEXT    answers with the text
  STEP limit         refuses: the account's limit is reached           STEP hold TEXT   answers when the test says `let_go`
  STEP later         refuses, and says to come back in an hour (only Anthropic's messages)

Whatever else is asked is answered with "ok". What was asked is in `asked`. The forms are those of Anthropic's messages, OpenAI's responses and Google's generateContent.
"""
import http.server
import json
import re
import threading
import time

WORDS = re.compile(r"STEP (run|say|limit|hold|later)\b[ \t]*([^\n\"]*)")
TOOLS = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell")
USED = {"fresh": 1000, "cached": 200, "out": 50}


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


class Asked:
    """One request, whichever way: what the person said last, whether its tool has answered, what tools there are."""

    def __init__(self, way, body):
        self.way, self.body = way, body
        self.said, self.has_result, self.tools = "", False, {}
        getattr(self, "_read_" + way)()
        found = WORDS.findall(self.said)
        self.word, self.rest = found[-1] if found else ("say", "ok")

    def _turn(self, role, text, is_result):
        if is_result:
            self.has_result = True
        elif role == "user" and WORDS.search(text):
            self.said, self.has_result = text, False

    def _read_messages(self):
        self.tools = {t["name"]: t.get("input_schema", {}) for t in self.body.get("tools") or []}
        for m in self.body.get("messages", []):
            parts = m["content"] if isinstance(m["content"], list) else []
            self._turn(m["role"], text_of(m["content"]), any(p.get("type") == "tool_result" for p in parts))

    def _read_responses(self):
        self.tools = {t.get("name", t["type"]): t.get("parameters", {}) for t in self.body.get("tools") or []}
        for item in self.body.get("input", []):
            self._turn(item.get("role"), text_of(item.get("content")), str(item.get("type", "")).endswith("_output"))

    def _read_contents(self):
        self.tools = {f["name"]: f.get("parametersJsonSchema") or f.get("parameters", {}) for t in self.body.get("tools") or [] for f in t.get("functionDeclarations", [])}
        for c in self.body.get("contents", []):
            self._turn(c.get("role"), text_of(c.get("parts")), any("functionResponse" in p for p in c.get("parts", [])))

    def call(self):
        """(name, arguments) of the program's tool for commands; None: nothing is to be run."""
        name = next((t for t in TOOLS if t in self.tools), None)
        if self.word != "run" or self.has_result or not name:
            return None
        schema = json.dumps(self.tools[name])
        arguments = {"cmd": self.rest} if '"cmd"' in schema else {"command": ["sh", "-c", self.rest] if name == "shell" else self.rest}
        if '"description"' in schema and name in ("Bash", "bash", "run_shell_command"):
            arguments["description"] = "as asked"
        if '"sandbox_permissions"' in schema:  # Codex asks a person for what is to leave its sandbox
            arguments.update(sandbox_permissions="require_escalated", justification="as asked")
        return name, arguments

    def text(self):
        return "finished" if self.word == "run" else self.rest or "ok"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", **headers):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events):
        self.send(200, "".join(("event: %s\n" % e["type"] if "type" in e else "") + "data: %s\n\n" % json.dumps(e) for e in events), "text/event-stream")

    def do_GET(self):
        self.send(404, {"error": {"message": "nothing here"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        path = self.path.split("?")[0]
        model = self.server.model
        if path.endswith("/messages"):
            model.answer(self, Asked("messages", body))
        elif path.endswith("/responses"):
            model.answer(self, Asked("responses", body))
        elif "enerateContent" in path:
            model.answer(self, Asked("contents", body))
        else:
            self.send(200, {"input_tokens": 1, "totalTokens": 1} if "ount" in path else {})


class Model:
    """Serves from a port of its own until it is closed."""

    def __init__(self):
        self.asked = []
        self.go = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.model = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server.server_port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()

    def let_go(self):
        self.go.set()

    def answer(self, handler, asked):
        self.asked.append(asked)
        if asked.word == "hold":
            self.go.wait(300)
        if asked.word == "later":
            handler.send(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "Too many requests."}}, retry_after="3600")
        elif asked.word == "limit":
            getattr(self, "_limit_" + asked.way)(handler)
        else:
            getattr(self, "_answer_" + asked.way)(handler, asked, "%d" % len(self.asked))

    # ---- Anthropic ---------------------------------------------------------------------------

    def _answer_messages(self, handler, asked, n):
        call = asked.call()
        block = {"type": "tool_use", "id": "toolu_" + n, "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": asked.text()}
        usage = {"input_tokens": USED["fresh"], "cache_read_input_tokens": USED["cached"], "cache_creation_input_tokens": 0, "output_tokens": 1}
        message = {"id": "msg_" + n, "type": "message", "role": "assistant", "model": asked.body.get("model", "m"), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        stop = "tool_use" if call else "end_turn"
        if not asked.body.get("stream"):
            done = {**block, "input": call[1]} if call else {"type": "text", "text": asked.text()}
            handler.send(200, {**message, "content": [done], "stop_reason": stop, "usage": {**usage, "output_tokens": USED["out"]}})
            return
        handler.stream([{"type": "message_start", "message": message}, {"type": "content_block_start", "index": 0, "content_block": block},
                        {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": USED["out"]}}, {"type": "message_stop"}])

    def _limit_messages(self, handler):
        handler.send(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed your account's rate limit."}},
                     x_should_retry="false", anthropic_ratelimit_unified_status="rejected", anthropic_ratelimit_unified_reset="1900000000",
                     anthropic_ratelimit_unified_representative_claim="five_hour")

    # ---- OpenAI ------------------------------------------------------------------------------

    def _answer_responses(self, handler, asked, n):
        call = asked.call()
        if call:
            item = {"type": "function_call", "id": "fc_" + n, "call_id": "call_" + n, "name": call[0], "arguments": json.dumps(call[1])}
        else:
            item = {"type": "message", "id": "msg_" + n, "role": "assistant", "content": [{"type": "output_text", "text": asked.text(), "annotations": []}]}
        usage = {"input_tokens": USED["fresh"] + USED["cached"], "input_tokens_details": {"cached_tokens": USED["cached"]}, "output_tokens": USED["out"],
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": USED["fresh"] + USED["cached"] + USED["out"]}
        response = {"id": "resp_" + n, "object": "response", "model": asked.body.get("model", "m"), "status": "in_progress", "output": []}
        handler.stream([{"type": "response.created", "response": response}, {"type": "response.output_item.added", "output_index": 0, "item": item},
                        {"type": "response.output_item.done", "output_index": 0, "item": item},
                        {"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}}])

    def _limit_responses(self, handler):
        handler.send(429, {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus", "resets_at": int(time.time()) + 3600, "resets_in_seconds": 3600}})

    # ---- Google ------------------------------------------------------------------------------

    def _answer_contents(self, handler, asked, _n):
        call = asked.call()
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": asked.text()}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}], "modelVersion": "gemini-2.5-pro",
                  "usageMetadata": {"promptTokenCount": USED["fresh"] + USED["cached"], "cachedContentTokenCount": USED["cached"], "candidatesTokenCount": USED["out"],
                                    "totalTokenCount": USED["fresh"] + USED["cached"] + USED["out"]}}
        if "stream" in handler.path:
            handler.stream([answer])
        else:
            handler.send(200, answer)

    def _limit_contents(self, handler):
        handler.send(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Resource has been exhausted (e.g. check quota).",
                                     "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]}})
