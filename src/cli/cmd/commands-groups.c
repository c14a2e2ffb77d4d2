/* SPDX-License-Identifier: MIT */
/*
 * The commands that are about groups, their actors and messages, and what their help says.
 */
#include "cli/cli.h"

#define WHERE                                                                                               \
        "  -g, --group G    id or title of the group (default: $CCCC_GROUP_ID, else this folder's)\n"       \
        "  --as NAME        who you are (default: $CCCC_ACTOR_ID, else user)\n"

const Command group_commands[] = {
        {
                .name = "group",
                .summary = "list groups, make them, change them",
                .usage = "[-g G] [--as NAME] [--json] [VERB [WORDS…]]",
                .details = "Verbs:\n"
                           "  list                      all groups (without a verb, this)\n"
                           "  new [TITLE…]              make one\n"
                           "  attach [FOLDER]           make a folder part of a group: its own, or --group\n"
                           "  use [FOLDER]              which of its folders the group works in\n"
                           "  detach SCOPE              take a folder away\n"
                           "  show                      the whole document, without secrets\n"
                           "  update KEY=VALUE…         title, topic\n"
                           "  set KEY=VALUE…            settings, such as default_send_to=broadcast;\n"
                           "                            also --sandbox and --network, for its actors, and\n"
                           "                            rights_peer=read,message, which narrows theirs\n"
                           "  state active|idle|paused\n"
                           "  start, stop               all its actors\n"
                           "  delete GROUP              ends its actors; its files go to the trash, which\n"
                           "                            muster prune empties. Asks first\n"
                           "\n" WHERE
                           "  --sandbox MODE   set: bwrap or none, for actors that do not say their own\n"
                           "  --network MODE   set: in a sandbox: host, none or veth\n"
                           "  -f, --force      delete: do not ask\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster group attach\n"
                            "  muster group set nudge_after_seconds=600\n",
                .takes = "group as force json sandbox network",
                .n_max = -1,
                .run = cmd_group,
        },
        {
                .name = "prune",
                .summary = "show the trash of deleted groups, and empty it",
                .usage = "[--older-than AGE] [-f] [--json]",
                .details =
                        "Lists the groups that were deleted and whose files are still there, and asks\n"
                        "whether to remove them for good. Without a terminal it needs --force.\n"
                        "\n"
                        "  --older-than AGE  only those deleted so long ago: 30d, 12h, 5m (default: all)\n"
                        "  -f, --force       do not ask\n"
                        "  --json            the list; with --force, what was removed\n",
                .examples = "  muster prune\n"
                            "  muster prune --older-than 30d --force\n",
                .takes = "older-than force json",
                .run = cmd_prune,
        },
        {
                .name = "actor",
                .summary = "list the actors of a group, add, start and stop them",
                .usage = "[-g G] [--as NAME] [--json] [VERB [WORDS…]]",
                .details =
                        "Verbs:\n"
                        "  list                                  with what each has not read (without a "
                        "verb, this)\n"
                        "  add ACTOR [KEY=VALUE…] [-- COMMAND…]  keys: runtime, runner, title, submit, …\n"
                        "  set ACTOR KEY=VALUE…                  the same keys, and enabled\n"
                        "  start, stop, restart, remove ACTOR\n"
                        "\n" WHERE
                        "  --sandbox MODE   add, set: bwrap or none (default: the group's, else none)\n"
                        "  --network MODE   add, set: in a sandbox: host, none or veth (default host)\n"
                        "  --env NAME[=VALUE]  add: a variable of its own, kept in group.yaml\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster actor add lead runtime=claude\n"
                            "  muster actor add dev runtime=custom --sandbox bwrap -- ./agent.sh\n"
                            "  muster actor start lead\n",
                .takes = "group as json env sandbox network",
                .runs_command = true,
                .n_max = -1,
                .run = cmd_actor,
        },
        {
                .name = "context",
                .summary = "what a group shares: vision, sketch, milestones, tasks, notes",
                .usage = "[-g G] [--as NAME] [--json] [VERB [WORDS…]]",
                .details = "Verbs:\n"
                           "  show                all of it (without a verb, this)\n"
                           "  tasks [NUMBER]      the tasks, or one with its steps\n"
                           "  vision TEXT…        where it is going; TEXT - is read from stdin\n"
                           "  sketch TEXT…        how\n"
                           "  note TEXT…          add a note\n"
                           "  task NAME…          add a task\n"
                           "  set OP KEY=VALUE…   any change of docs/cccc-context.md, such as task.update\n"
                           "\n" WHERE "  --json           the daemon's answer as it is\n",
                .examples = "  muster context\n"
                            "  muster context vision A release by Friday\n"
                            "  muster context set task.update task_id=T001 status=done\n",
                .takes = "group as json",
                .n_max = -1,
                .run = cmd_context,
        },
        {
                .name = "template",
                .summary = "a group's actors, settings and prompts as a file",
                .usage = "[-g G] [--as NAME] [--json] [--force] [--name T] [VERB [WORDS…]]",
                .details = "Verbs:\n"
                           "  export                  print it as YAML (without a verb, this)\n"
                           "  preview FILE            what it would change in a group\n"
                           "  import FILE             replace a group's by the file's; needs --force\n"
                           "  create FILE [FOLDER]    make a group for a folder (default: this one)\n"
                           "\nFILE - is stdin. The history of a group stays.\n"
                           "\n" WHERE "  -f, --force      import: do it\n"
                           "  -n, --name T     create: title of the group (default: working-group)\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster template export > team.yaml\n"
                            "  muster template preview team.yaml\n"
                            "  muster template create team.yaml ~/src/api --name api\n",
                .takes = "group as json force name",
                .n_max = -1,
                .run = cmd_template,
        },
        {
                .name = "send",
                .summary = "send a message to a group, or to what is hosted",
                .usage = "[-g G] [--as NAME] [--to WHOM]… [--attention] [--key K] [--json] TEXT…",
                .details =
                        "Prints the id of the message once it is kept. TEXT - is read from stdin.\n"
                        "\n" WHERE "  --to WHOM        actor id or title, user, @all, @peers, @foreman; may "
                        "be repeated.\n"
                        "                   Without it: who is mentioned as @name, else the group's "
                        "policy.\n"
                        "                   Or what ps shows, whatever group: a session has it typed, a "
                        "task\n"
                        "                   gets one that follows it (docs/names.md)\n"
                        "  --attention      it has to be acknowledged\n"
                        "  --key K          sent again with the same key it is no second message\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster send --to dev please have a look at the failing test\n"
                            "  git diff | muster send --to @peers -\n"
                            "  muster send --to session:api run the tests again\n",
                .takes = "group as to attention key json",
                .n_min = 1,
                .n_max = -1,
                .run = cmd_send,
        },
        {
                .name = "reply",
                .summary = "answer a message",
                .usage = "[-g G] [--as NAME] [--to WHOM]… [--attention] [--key K] [--json] EVENT TEXT…",
                .details = "Goes to who sent the message unless --to says otherwise. EVENT is an id, its "
                           "beginning, or\n"
                           "last: the last message of somebody else. TEXT - is read from stdin.\n"
                           "\n" WHERE "  --to WHOM        as for muster send\n"
                           "  --attention      it has to be acknowledged\n"
                           "  --key K          sent again with the same key it is no second message\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster reply 3f2a… done, see the branch\n"
                            "  muster reply last done\n",
                .takes = "group as to attention key json",
                .n_min = 2,
                .n_max = -1,
                .run = cmd_reply,
        },
        {
                .name = "inbox",
                .summary = "show what has not been read yet, oldest first",
                .usage = "[-g G] [--as NAME] [--kind K] [-n N] [--read] [--json] [ACTOR]",
                .details = "One's own, or that of ACTOR if one may see it.\n"
                           "\n" WHERE "  --kind K         all, chat or notify (default all)\n"
                           "  -n, --tail N     at most N (default 50; 0: all)\n"
                           "  --read           what is shown is read from now on\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster inbox --read\n",
                .takes = "group as kind read tail json",
                .n_max = 1,
                .run = cmd_inbox,
        },
        {
                .name = "ack",
                .summary = "acknowledge a message that asks for attention",
                .usage = "[-g G] [--as NAME] [--json] EVENT",
                .details = WHERE "  --json           the daemon's answer as it is\n",
                .examples = "  muster ack 3f2a…\n",
                .takes = "group as json",
                .n_min = 1,
                .n_max = 1,
                .run = cmd_ack,
        },
        {
                .name = "mail",
                .summary = "show what waits for whom and why, and what became of messages",
                .usage = "[-g G] [--as NAME] [-n N] [--json]",
                .details =
                        "For each message and recipient: stored, typed into the terminal (queued, handed, "
                        "accepted; requeued,\nin doubt or dropped; or why it was never queued), read, "
                        "acknowledged, replied. muster(1) explains the words.\n"
                        "\n" WHERE "  -n, --tail N     the last N messages (default 20)\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster mail\n",
                .takes = "group as tail json",
                .run = cmd_mail,
        },
        {
                .name = "tail",
                .summary = "show the last events of a group",
                .usage = "[-g G] [--as NAME] [--kind K] [-n N] [--since EVENT] [-f] [--json]",
                .details = WHERE "  --kind K         only this kind, such as chat.message\n"
                                 "  -n, --tail N     how many (default 20)\n"
                                 "  --since EVENT    what came behind this one, and go on\n"
                                 "  -f, --follow     go on with messages, notices and acknowledgements\n"
                                 "  --json           one JSON object a line\n"
                                 "  --no-reconnect   end with status 3 when the daemon goes\n",
                .examples = "  muster tail -f\n",
                .takes = "group as kind since tail follow json no-reconnect",
                .run = cmd_tail,
        },
        {
                .name = "events",
                .summary = "print the events of a group as JSON, one a line",
                .usage = "[-g G | --all] [--as NAME] [--kind K] [-n N] [--since EVENT] [-f] [--json]",
                .details = WHERE
                "  --kind K         only this kind\n"
                "  -n, --tail N     how many (default 20)\n"
                "  --since EVENT    what came behind this one, and go on\n"
                "  -f, --follow     go on with messages, notices and acknowledgements\n"
                "  -a, --all        of all groups, tasks and hosted processes, numbered; one line\n"
                "                   each, or JSON with --json; --since takes [EPOCH:]NUMBER\n"
                "  --json           JSON, one object a line, also with --all\n"
                "  --no-reconnect   end with status 3 when the daemon goes\n",
                .examples = "  muster events -f | jq -r 'select(.kind == \"chat.message\") | .data.text'\n",
                .takes = "group as kind since tail follow json all no-reconnect",
                .run = cmd_events,
        },
};

const size_t n_group_commands = ARRAY_SIZE(group_commands);
