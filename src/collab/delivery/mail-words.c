/* SPDX-License-Identifier: MIT */
/*
 * All words that delivery says of a message: in facts, in group.mail and in debug_snapshot. docs/cccc-delivery.md
 * explains each of them; scripts/lint holds the two together (check `texts`).
 */
#include "collab/delivery/delivery.h"

static const char *const fact_words[_FACTS] = {
        [FACT_MARK] = "mark",       [FACT_QUEUED] = "queued",     [FACT_HANDING] = "handing",
        [FACT_HANDED] = "handed",   [FACT_ACCEPTED] = "accepted", [FACT_REQUEUED] = "requeued",
        [FACT_DOUBT] = "doubt",     [FACT_DROPPED] = "dropped",   [FACT_TAKEN] = "taken",
        [FACT_STALLED] = "stalled",
};

static const char *const why_words[_MAIL_WHYS] = {
        [MAIL_GO] = "due",
        [MAIL_EMPTY] = "empty",
        [MAIL_STOPPED] = "stopped",
        [MAIL_PAUSED] = "paused",
        [MAIL_IDLE] = "idle",
        [MAIL_STARTING] = "starting",
        [MAIL_THROTTLED] = "throttled",
        [MAIL_FAILED] = "failed",
        [MAIL_BEHIND] = "behind",
        [MAIL_BUDGET] = "budget",
        [MAIL_LIMITED] = "limited",
        [MAIL_TURN] = "turn",
};

static const char *const phase_words[_MAIL_PHASES] = {
        [MAIL_PREPARING] = "typing",    [MAIL_RECORDING] = "typing",  [MAIL_HELD] = "behind",
        [MAIL_WRITING] = "blocked",     [MAIL_SUBMITTING] = "typing", [MAIL_KEYED] = "blocked",
        [MAIL_RESTING] = "introducing", [MAIL_OFFERED] = "offered",   [MAIL_CONFIRMING] = "confirming",
};

static const char *const reason_words[_REASONS] = {
        [REASON_FULL] = "queue full",
        [REASON_MEMORY] = "no memory",
        [REASON_NO_TERMINAL] = "no terminal any more",
        [REASON_REMOVED] = "actor removed",
        [REASON_ACTIVE] = "the group is active again",
        [REASON_GONE] = "no longer in the ledger",
        [REASON_ENDED] = "session ended",
        [REASON_BLOCKED] = "the terminal took nothing",
        [REASON_FAILED] = "the attempt failed",
        [REASON_BEHIND] = "another program is in front",
        [REASON_UNTAKEN] = "the hook did not take it",
        [REASON_MOVED] = "the ledger changed",
        [REASON_HEADLESS] = "headless",
        [REASON_ADDED_LATER] = "added later",
        [REASON_NO_ID] = "no id",
        [REASON_LONG_ID] = "id too long",
        [REASON_REPEATED] = "repeated id",
        [REASON_NOT_OPEN] = "delivery not open",
        [REASON_NOT_JUDGED] = "not judged yet",
        [REASON_BEFORE] = "before the first delivery",
        [REASON_ARCHIVED] = "facts archived",
        [REASON_UNREAD] = "facts not read",
        [REASON_OTHERS] = "not its own then",
};

const char *mail_fact_name(MailFact fact) {
        return fact_words[fact];
}

bool mail_fact_from(Str name, MailFact *ret) {
        for (size_t i = 0; i < _FACTS; i++)
                if (str_is(name, fact_words[i])) {
                        *ret = (MailFact)i;
                        return true;
                }
        return false;
}

const char *mail_why_name(MailWhy why) {
        return why_words[why];
}

const char *mail_phase_name(MailPhase phase) {
        return phase_words[phase];
}

const char *mail_reason_name(MailReason reason) {
        return reason_words[reason];
}
