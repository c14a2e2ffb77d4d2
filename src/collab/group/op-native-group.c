/* SPDX-License-Identifier: MIT */
/*
 * Native methods about groups, for the command line: which group is meant, and what happened last in it.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collab/collab.h"
#include "collab/group/lines.h"
#include "collab/group/scope.h"
#include "collab/unicode.h"
#include "core/secret.h"
#include "gen/native-ops.h"

enum {
        ANSWER_MAX = 8 * 1024 * 1024,  /* bytes of events; older ones are left out */
        NATIVE_GROUP_WORD_SHOWN = 100, /* characters of an id that is nobody's */
        CANDIDATES_MAX = 8,            /* that an ambiguous name is answered with */
};

/* ---- group.find ------------------------------------------------------------------------------ */

static int native_group_tell(Call *call, Group *group, _unused_ const Carry *carry) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_str(w, "title", group->doc->title);
        jw_field_cstr(w, "folder", group->dir);
        jw_field_int(w, "events", group->ledger ? (int64_t)ledger_n_committed(group->ledger) : 0);
        jw_end_object(w);
        return 0;
}

typedef bool (*GroupMatch)(const Json *group, Str name);

static bool group_has_title(const Json *group, Str name) {
        return unicode_equal_folded(json_str(json_get(group, "title")), name);
}

/* With its g_ in front or without. */
static bool group_id_begins(const Json *group, Str name) {
        Str id = json_key(group), digits = {id.data + 2, id.n - 2};

        return str_starts(id, name) || (str_starts(id, STR("g_")) && str_starts(digits, name));
}

static int group_refuse_ambiguous(Call *call, const Json *groups, Str name, GroupMatch matches) {
        _cleanup_(buf_deinit) Buf list = BUF_NULL;
        size_t n = 0;

        json_each (group, groups)
                if (matches(group, name) && n++ < CANDIDATES_MAX &&
                    buf_printf(&list, "%s" STR_FMT " (" STR_FMT ")", list.n ? ", " : "",
                               STR_ARG(json_key(group)), STR_ARG(json_str(json_get(group, "title")))))
                        return error_origin(-ENOMEM);
        return call_fail(call, CALL_E_AMBIGUOUS_GROUP,
                         "several groups are meant by " STR_FMT ": " STR_FMT "%s", STR_ARG(name),
                         STR_ARG(buf_str(&list)), n > CANDIDATES_MAX ? ", …" : "");
}

/* *ret is empty when there is none. */
static int group_match(Call *call, const Json *groups, Str name, GroupMatch matches, Str *ret) {
        json_each (group, groups) {
                if (!matches(group, name))
                        continue;
                if (ret->n)
                        return group_refuse_ambiguous(call, groups, name, matches);
                *ret = json_key(group);
        }
        return 0;
}

/* An id before a title, and the beginning of an id last. */
int registry_named(Call *call, const Registry *registry, Str name, Str *ret) {
        const Json *groups = json_get(registry->document->json, "groups");
        Str id = json_get_str(groups, name) ? name : STR_NULL;
        int r = 0;

        if (!id.n)
                r = group_match(call, groups, name, group_has_title, &id);
        if (!r && !id.n)
                r = group_match(call, groups, name, group_id_begins, &id);
        if (r)
                return r;
        if (!id.n && group_id_is_valid(name))
                id = name; /* one that no list knows yet */
        *ret = id.n ? arena_str(&call->arena, id) : STR_NULL;
        return id.n && !ret->data ? error_origin(-ENOMEM) : 0;
}

static int find_named(Call *call, Registry *registry, const Carry *carry) {
        const NativeGroupFindArgs *args = container_of(carry, NativeGroupFindArgs, carry);
        Str name = str_trim(args->group), id = STR_NULL;
        int r = registry_named(call, registry, name, &id);

        if (r)
                return r;
        if (!id.n)
                return call_fail(call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT, STR_ARG(name));
        return collab_call(call, id, native_group_tell, &args->carry);
}

typedef struct FolderLook {
        Carry carry;
        Str path, scope_key;
} FolderLook;

static int native_group_find_scope(Call *call, Registry *registry, const Carry *carry) {
        const FolderLook *look = container_of(carry, FolderLook, carry);
        Str id = arena_str(&call->arena, registry_default(registry, look->scope_key));

        if (!id.n)
                return call_fail(call, CALL_E_GROUP_NOT_FOUND, "no group has the folder " STR_FMT,
                                 STR_ARG(look->path));
        return collab_call(call, id, native_group_tell, NULL);
}

static int got_scope(Call *call, const Scope *scope, const Carry *carry) {
        const NativeGroupFindArgs *args = container_of(carry, NativeGroupFindArgs, carry);
        FolderLook *look = arena_alloc(&call->arena, sizeof(*look));

        if (!look)
                return error_origin(-ENOMEM);
        *look = (FolderLook){.path = args->path, .scope_key = scope->key};
        return registry_call(call, native_group_find_scope, &look->carry);
}

int op_native_group_find(Call *call, const NativeGroupFindArgs *args) {
        if (!call->daemon->collab)
                return call_fail(call, CALL_E_UNAVAILABLE, "this daemon serves no CCCC home");
        if (str_trim(args->group).n)
                return registry_call(call, find_named, &args->carry);
        if (args->path.n)
                return scope_call(call, args->path, got_scope, &args->carry);
        return call_fail(call, CALL_E_INVALID_PARAMS, "group or path is required");
}

/* ---- group.events ---------------------------------------------------------------------------- */

typedef struct Page {
        Carry carry;
        const NativeGroupEventsArgs *args;
        uint64_t *positions; /* the newest line of all, then those asked for, newest first */
        size_t n;
} Page;

static Str native_group_id_of(Arena *arena, Str line) {
        Json *event;

        return json_parse(arena, line.data, line.n, NULL, &event, NULL) ? STR_NULL
                                                                        : json_str(json_get(event, "id"));
}

static void event_write(Call *call, JsonWriter *w, Arena *arena, Str line) {
        Json *event = NULL;

        if (secret_redact_event(&call->daemon->config, arena, line, &event) && !event)
                w->failed = true;
        else if (event)
                jw_value(w, event);
        else
                jw_stored(w, line);
        arena_reset(arena);
}

static int native_group_answer(Call *call, _unused_ Group *group, const LedgerRead *lines,
                               const Carry *carry) {
        const Page *page = container_of(carry, Page, carry);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "events");
        jw_begin_array(w);
        for (size_t i = page->n; i > 1; i--)
                event_write(call, w, &arena, ledger_read_line(lines, i - 1));
        jw_end_array(w);
        jw_field_str(w, "last_event_id",
                     page->n ? native_group_id_of(&arena, ledger_read_line(lines, 0)) : STR(""));
        jw_end_object(w);
        return 0;
}

/* Without a kind every line counts; with one, at most all lines are looked at, never read. */
static void native_group_fill(const Group *group, Page *page, uint64_t before) {
        uint64_t n = ledger_n_committed(group->ledger), at = MIN(before, n), n_bytes = 0;
        size_t n_max = (size_t)page->args->limit + 1;

        if (n)
                page->positions[page->n++] = n - 1;
        while (at-- && page->n < n_max) {
                LedgerEntry entry = ledger_entry(group->ledger, at);

                if (page->args->kind.n && !str_eq(entry.kind, page->args->kind))
                        continue;
                n_bytes += entry.n_bytes;
                if (n_bytes > ANSWER_MAX)
                        break;
                page->positions[page->n++] = at;
        }
}

static int native_group_list_again(Call *call, Group *group, const Carry *carry) {
        const Page *page = container_of(carry, Page, carry);

        return op_native_group_events(call, group, page->args);
}

int op_native_group_events(Call *call, Group *group, const NativeGroupEventsArgs *args) {
        Page *page = arena_alloc(&call->arena, sizeof(*page));
        uint64_t *positions = arena_alloc(&call->arena, ((size_t)args->limit + 1) * sizeof(*positions));
        uint64_t before = UINT64_MAX;

        if (!page || !positions)
                return error_origin(-ENOMEM);
        *page = (Page){.args = args, .positions = positions};
        if (args->before.n && ledger_find_id(group->ledger, args->before, &before))
                return call_fail(call, CALL_E_EVENT_NOT_FOUND, "event not found: " STR_FMT,
                                 STR_ARG(utf8_first(args->before, NATIVE_GROUP_WORD_SHOWN)));
        native_group_fill(group, page, before);
        if (!page->n)
                return native_group_answer(call, group, NULL, &page->carry);
        return lines_read(call, group, page->positions, page->n, native_group_answer,
                          native_group_list_again, &page->carry);
}
