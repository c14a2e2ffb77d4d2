# SPDX-License-Identifier: MIT
"""What each agent program gives its hooks: event -> member -> type, written by hand. A fake that gives something else is wrong.

gemini     compared with the whole hooks reference of its repository (docs/hooks/reference.md)
codex      all compared with the JSON schemas of its repository (codex-rs/hooks/schema/generated, commit 343074d4207d of 2026-08-22); it has no hook for an interrupted turn
claude     by excerpts of the hooks reference of Claude Code; not compared as a whole
opencode   by excerpts about the events of its SDK and its plugins; not compared as a whole
"""

TEXT, FLAG, OBJECT, LIST = str, bool, dict, list
TEXT_OR_NONE = (str, type(None))

_CLAUDE = {"session_id": TEXT, "transcript_path": TEXT, "cwd": TEXT, "hook_event_name": TEXT}
_TOOL = {"tool_name": TEXT, "tool_input": OBJECT}
_CODEX = {"session_id": TEXT, "transcript_path": TEXT_OR_NONE, "cwd": TEXT, "hook_event_name": TEXT, "model": TEXT}
_TURN = {"turn_id": TEXT, "permission_mode": TEXT}
_GEMINI = {"session_id": TEXT, "transcript_path": TEXT, "cwd": TEXT, "hook_event_name": TEXT, "timestamp": TEXT}

SHAPES = {
    "claude": {
        "SessionStart": {**_CLAUDE, "source": TEXT},
        "SessionEnd": {**_CLAUDE, "reason": TEXT},
        "UserPromptSubmit": {**_CLAUDE, "prompt": TEXT},
        "PreToolUse": {**_CLAUDE, **_TOOL, "tool_use_id": TEXT},
        "PostToolUse": {**_CLAUDE, **_TOOL, "tool_use_id": TEXT, "tool_response": OBJECT},
        "PostToolUseFailure": {**_CLAUDE, **_TOOL, "tool_use_id": TEXT, "error": TEXT},
        "PermissionRequest": {**_CLAUDE, **_TOOL},
        "Notification": {**_CLAUDE, "message": TEXT, "notification_type": TEXT},
        "Stop": {**_CLAUDE, "stop_hook_active": FLAG},
        "StopFailure": {**_CLAUDE, "error": TEXT},
        "SubagentStop": {**_CLAUDE, "stop_hook_active": FLAG, "agent_id": TEXT},
    },
    "codex": {
        "SessionStart": {**_CODEX, "permission_mode": TEXT, "source": TEXT},
        "SessionEnd": {name: kind for name, kind in _CODEX.items() if name != "model"} | {"reason": TEXT},
        "UserPromptSubmit": {**_CODEX, **_TURN, "prompt": TEXT},
        "PreToolUse": {**_CODEX, **_TURN, **_TOOL, "tool_use_id": TEXT},
        "PostToolUse": {**_CODEX, **_TURN, **_TOOL, "tool_use_id": TEXT, "tool_response": OBJECT},
        "PermissionRequest": {**_CODEX, **_TURN, **_TOOL},
        "Stop": {**_CODEX, **_TURN, "stop_hook_active": FLAG, "last_assistant_message": TEXT_OR_NONE},
    },
    "gemini": {
        "SessionStart": {**_GEMINI, "source": TEXT},
        "SessionEnd": {**_GEMINI, "reason": TEXT},
        "BeforeAgent": {**_GEMINI, "prompt": TEXT},
        "AfterAgent": {**_GEMINI, "prompt": TEXT, "prompt_response": TEXT, "stop_hook_active": FLAG},
        "BeforeTool": {**_GEMINI, **_TOOL},
        "AfterTool": {**_GEMINI, **_TOOL, "tool_response": OBJECT},
        "Notification": {**_GEMINI, "notification_type": TEXT, "message": TEXT, "details": OBJECT},
    },
    "opencode": {
        "session.created": {"info": OBJECT},
        "session.status": {"sessionID": TEXT, "status": OBJECT},
        "session.idle": {"sessionID": TEXT},
        "session.error": {"sessionID": TEXT, "error": OBJECT},
        "permission.asked": {"sessionID": TEXT, "permission": TEXT},
        "permission.replied": {"sessionID": TEXT, "reply": TEXT},
        "tool.execute.before": {"sessionID": TEXT, "tool": TEXT},
        "tool.execute.after": {"sessionID": TEXT, "tool": TEXT},
    },
}
CLOSED = {"codex"}  # no members but these, and those of MORE
MORE = {"codex": {"agent_id": TEXT, "agent_type": TEXT},
        "claude": {"agent_id": TEXT, "agent_type": TEXT, "background_tasks": LIST, "is_interrupt": FLAG, "permission_mode": TEXT, "last_assistant_message": TEXT, "source": TEXT}}


def wrong(runtime, event, payload):
    """What does not fit; empty: all does."""
    shape = SHAPES[runtime].get(event)
    if shape is None:
        return "%s has no event %s" % (runtime, event)
    for name, kind in shape.items():
        if not isinstance(payload.get(name), kind):
            return "%s of %s: %r" % (name, event, payload.get(name))
    others = set(payload) - set(shape)
    if runtime in CLOSED and others - set(MORE[runtime]):
        return "%s does not have %s" % (event, others)
    for name in others & set(MORE.get(runtime, {})):
        if not isinstance(payload[name], MORE[runtime][name]):
            return "%s of %s: %r" % (name, event, payload[name])
    return ""


def wrong_decision(answer):
    """What does not fit of what a hook prints for a permission, as Claude Code and Codex take it; empty: all does. Codex refuses members that it does not know."""
    output = answer.get("hookSpecificOutput", {})
    decision = output.get("decision", {})
    if set(answer) != {"hookSpecificOutput"} or set(output) != {"hookEventName", "decision"} or output["hookEventName"] != "PermissionRequest":
        return "no decision: %r" % answer
    if decision.get("behavior") not in ("allow", "deny") or set(decision) - {"behavior", "message"}:
        return "decision: %r" % decision
    return "" if decision["behavior"] == "allow" or isinstance(decision.get("message"), str) else "a denial says why: %r" % decision


def wrong_refusal(runtime, answer):
    """What does not fit of what a hook prints to refuse a tool; empty: all does. Claude Code and Codex: PreToolUse; Gemini: BeforeTool."""
    if runtime == "gemini":
        return "" if set(answer) == {"decision", "reason"} and answer["decision"] == "deny" and answer["reason"] else "no refusal: %r" % answer
    output = answer.get("hookSpecificOutput", {})
    if set(answer) != {"hookSpecificOutput"} or set(output) != {"hookEventName", "permissionDecision", "permissionDecisionReason"}:
        return "no refusal: %r" % answer
    return "" if (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", "deny") and output["permissionDecisionReason"] else "refusal: %r" % output
