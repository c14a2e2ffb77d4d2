/* SPDX-License-Identifier: MIT */
#include "core/fleet/fleet.h"

#include <ctype.h>
#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/daemon.h"

enum { FLEET_FOUND_FIRST = 8, FLEET_WORD_SHOWN = 100 /* characters of a word that is nobody's */ };

/* ---- names ----------------------------------------------------------------------------------- */

static const FleetOwner *fleet_owner(const Daemon *daemon, const char *owner) {
        for (const FleetOwner *const *at = daemon->fleet; at && *at; at++)
                if (!strcmp((*at)->owner, owner))
                        return *at;
        return NULL;
}

const FleetOwner *fleet_owner_of_kind(const Daemon *daemon, Str kind) {
        for (const FleetOwner *const *at = daemon->fleet; at && *at; at++)
                if (str_is(kind, (*at)->kind))
                        return *at;
        return NULL;
}

int fleet_describe(Daemon *daemon, const Hosted *hosted, Arena *arena, FleetThing *ret) {
        const FleetOwner *owner = hosted->owner ? fleet_owner(daemon, hosted->owner) : NULL;
        int r;

        *ret = (FleetThing){.owner = owner};
        r = owner && hosted->object ? owner->describe(daemon, hosted, arena, ret) : 1;
        if (r < 0)
                return error_trace(r);
        if (r)
                *ret = (FleetThing){.owner = owner};
        memcpy(ret->id, hosted->id, sizeof(ret->id));
        return 0;
}

/* ---- what fits ------------------------------------------------------------------------------- */

static bool fleet_is_hex(Str word) {
        for (size_t i = 0; i < word.n; i++)
                if (!isxdigit((unsigned char)word.data[i]) || isupper((unsigned char)word.data[i]))
                        return false;
        return word.n > 0;
}

/* The name without its kind, or what stands behind its slash. */
static bool fleet_is_short(const FleetThing *thing, Str word) {
        Str rest = {thing->name.data + strlen(thing->owner->kind) + 1,
                    thing->name.n - strlen(thing->owner->kind) - 1};
        const char *slash = memchr(rest.data, '/', rest.n);
        Str last = slash ? (Str){slash + 1, (size_t)(rest.data + rest.n - slash - 1)} : rest;

        return str_eq(rest, word) || str_eq(last, word) || (thing->alias.n && str_eq(thing->alias, word));
}

static FleetFit fleet_fit_of_kind(const FleetThing *thing, Str word, bool is_of_kind) {
        if (!thing->name.n)
                return FLEET_NOT;
        if (fleet_is_short(thing, word))
                return FLEET_SHORT;
        return thing->owner->fit ? thing->owner->fit(thing, word, is_of_kind) : FLEET_NOT;
}

/* A kind that was named binds: behind it stands a name without it, or a short one. */
static FleetFit fleet_fit(const FleetSearch *search, const FleetThing *thing) {
        FleetFit fit;

        if (thing->name.n && str_eq(thing->name, search->word))
                return FLEET_WHOLE;
        if (search->owner)
                return thing->owner == search->owner ? fleet_fit_of_kind(thing, search->rest, true)
                                                     : FLEET_NOT;
        if (*thing->id && str_is(search->word, thing->id))
                return FLEET_ID;
        fit = fleet_fit_of_kind(thing, search->word, false);
        return fit == FLEET_NOT && *thing->id && search->word.n >= FLEET_ID_MIN &&
                               fleet_is_hex(search->word) && str_starts(str_from(thing->id), search->word)
                       ? FLEET_BEGINS
                       : fit;
}

static int fleet_push(FleetSearch *search, const FleetThing *thing) {
        if (search->n_found == search->n_max) {
                size_t n = MAX(search->n_max * 2, (size_t)FLEET_FOUND_FIRST);
                FleetThing *more = arena_alloc(search->arena, n * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                if (search->n_found)
                        memcpy(more, search->found, search->n_found * sizeof(*more));
                search->found = more;
                search->n_max = n;
        }
        search->found[search->n_found++] = *thing;
        return 0;
}

/* Of one name the first counts, unless it has no process and this one has: but two processes that nobody has
 * a name for are two. */
int fleet_offer(FleetSearch *search, const FleetThing *thing) {
        FleetFit fit = fleet_fit(search, thing);

        if (fit == FLEET_NOT || fit > search->fit)
                return 0;
        if (fit < search->fit)
                search->n_found = 0;
        search->fit = fit;
        for (size_t i = 0; thing->name.n && i < search->n_found; i++)
                if (str_eq(search->found[i].name, thing->name))
                        return 0;
        return error_trace(fleet_push(search, thing));
}

/* Lives, and a domain looks after it; lives; is left of one. */
static int fleet_rank(const Hosted *hosted) {
        bool is_live = hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING;

        return is_live && hosted->handler ? 0 : is_live ? 1 : 2;
}

static int fleet_offer_hosted(Daemon *daemon, FleetSearch *search) {
        int r = 0;

        for (int rank = 0; rank <= 2 && daemon->host; rank++)
                for (Hosted *hosted = host_first(daemon->host); hosted && !r; hosted = hosted->next) {
                        FleetThing thing;

                        if (fleet_rank(hosted) != rank)
                                continue;
                        r = fleet_describe(daemon, hosted, search->arena, &thing);
                        r = r ? r : fleet_offer(search, &thing);
                }
        return error_trace(r);
}

int fleet_search(Daemon *daemon, Arena *arena, Str word, FleetSearch *ret) {
        const char *colon = word.n ? memchr(word.data, ':', word.n) : NULL;
        int r;

        *ret = (FleetSearch){.arena = arena, .word = word, .rest = word, .fit = FLEET_NOT};
        if (colon)
                ret->owner = fleet_owner_of_kind(daemon, (Str){word.data, (size_t)(colon - word.data)});
        if (ret->owner)
                ret->rest = (Str){colon + 1, (size_t)(word.data + word.n - colon - 1)};
        r = word.n ? fleet_offer_hosted(daemon, ret) : 0;
        for (const FleetOwner *const *at = daemon->fleet; !r && word.n && at && *at; at++)
                if ((*at)->offer && (!ret->owner || ret->owner == *at))
                        r = (*at)->offer(daemon, ret);
        return error_trace(r);
}

/* ---- of several ------------------------------------------------------------------------------ */

bool fleet_is_below(Str path, Str folder) {
        return folder.n && str_starts(path, folder) &&
               (path.n == folder.n || folder.n == 1 || path.data[folder.n] == '/');
}

bool fleet_prefer(FleetSearch *search, Str folder) {
        const FleetThing *best = NULL;
        bool is_alone = true;

        for (size_t i = 0; folder.n && i < search->n_found; i++) {
                const FleetThing *thing = &search->found[i];

                if (!fleet_is_below(folder, thing->folder) || (best && thing->folder.n < best->folder.n))
                        continue;
                is_alone = !best || thing->folder.n > best->folder.n;
                best = thing;
        }
        if (!best || !is_alone)
                return false;
        search->found[0] = *best;
        search->n_found = 1;
        return true;
}

static Str fleet_shown(const FleetThing *thing) {
        return thing->name.n ? thing->name : str_from(thing->id);
}

int fleet_write_found(const FleetSearch *search, JsonWriter *w, Buf *ret_text) {
        int r = 0;

        jw_begin_object(w);
        jw_key(w, "names");
        jw_begin_array(w);
        for (size_t i = 0; i < MIN(search->n_found, (size_t)FLEET_LISTED_MAX) && !r; i++) {
                Str shown = fleet_shown(&search->found[i]);

                jw_str(w, shown);
                r = buf_printf(ret_text, "%s" STR_FMT, i ? ", " : "", STR_ARG(shown));
        }
        jw_end_array(w);
        jw_end_object(w);
        if (!r && search->n_found > FLEET_LISTED_MAX)
                r = buf_append_str(ret_text, STR(", …"));
        return error_trace(r);
}

Hosted *fleet_find_hosted(Daemon *daemon, const char *but_owner, Str word) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetSearch search;

        if (!daemon->host || fleet_search(daemon, &arena, word, &search) || search.n_found != 1 ||
            (search.found->owner && !strcmp(search.found->owner->owner, but_owner)))
                return NULL;
        return *search.found->id ? host_find(daemon->host, str_from(search.found->id)) : NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int fleet_refuse_unknown(Call *call, Str word) {
        return call_fail(call, CALL_E_NAME_NOT_FOUND, "nothing here is called " STR_FMT,
                         STR_ARG(utf8_first(word, FLEET_WORD_SHOWN)));
}

static int fleet_refuse_ambiguous(Call *call, const FleetSearch *search) {
        _cleanup_(buf_deinit) Buf list = BUF_NULL;
        int r = fleet_write_found(search, call_details(call), &list);

        return r ? error_trace(r)
                 : call_fail(call, CALL_E_AMBIGUOUS_NAME, "several are meant by " STR_FMT ": " STR_FMT,
                             STR_ARG(utf8_first(search->word, FLEET_WORD_SHOWN)), STR_ARG(buf_str(&list)));
}

int fleet_sought(Call *call, const FleetLook *look, const FleetThing *thing) {
        return thing ? look->fn(call, thing, look->then) : fleet_refuse_unknown(call, look->word);
}

static int fleet_seek(Call *call, const FleetSearch *search, FleetFn fn, const Carry *carry) {
        FleetLook *look = arena_alloc(&call->arena, sizeof(*look));
        const FleetOwner *const *at = call->daemon->fleet;

        if (!look)
                return error_origin(-ENOMEM);
        *look = (FleetLook){.word = search->word, .rest = search->rest, .fn = fn, .then = carry};
        while (at && *at && !((*at)->seek && (!search->owner || search->owner == *at)))
                at++;
        return at && *at ? (*at)->seek(call, look) : fleet_refuse_unknown(call, search->word);
}

int fleet_call(Call *call, Str word, Str folder, FleetFn fn, const Carry *carry) {
        FleetSearch search;
        int r = fleet_search(call->daemon, &call->arena, word, &search);

        if (r)
                return error_trace(r);
        if (search.n_found > 1 && !fleet_prefer(&search, folder))
                return fleet_refuse_ambiguous(call, &search);
        return search.n_found ? fn(call, search.found, carry) : fleet_seek(call, &search, fn, carry);
}
