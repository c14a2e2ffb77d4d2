/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/web"

#include "core/web/servers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/lane.h"
#include "core/web/web-file.h"

typedef struct ServersChange {
        LaneItem item;
        ServersFn fn;
        void *user;
        ServerRecord *coming;  /* kept; or … */
        ServerRecord *leaving; /* … forgotten, which has … */
        char *host;            /* … this address */
        unsigned port;
} ServersChange;

struct Servers {
        Loop *loop;
        Log *log;
        char *path;
        ServerRecord *first;
        size_t n;
        bool is_closed;
        Lane lane;
        ServersChange *at; /* being written */
        Buf text;
        int r; /* of the worker */
};

/* ---- records --------------------------------------------------------------------------------- */

static ServerRecord *server_record_free(ServerRecord *record) {
        if (record) {
                free(record->host);
                free(record->tls);
        }
        free(record);
        return NULL;
}

static ServerRecord *server_record_copy(const ServerRecord *what) {
        ServerRecord *record = malloc(sizeof(*record));

        if (!record)
                return NULL;
        *record = *what;
        record->next = NULL;
        record->host = strdup(what->host);
        record->tls = strdup(what->tls ? what->tls : "");
        return record->host && record->tls ? record : server_record_free(record);
}

static bool server_record_fits(const ServerRecord *record) {
        return record->port > 0 && record->port <= UINT16_MAX && *record->host &&
               strlen(record->host) <= SERVER_HOST_MAX && strlen(record->tls) <= SERVER_TLS_MAX;
}

static ServerRecord *server_record_read(const Json *json) {
        ServerRecord found = {.host = str_dup(json_text_of(json, "host")),
                              .tls = str_dup(json_text_of(json, "tls"))};
        Str digest = json_text_of(json, "sha256");
        ServerRecord *record = NULL;
        int64_t port = 0;

        if (found.host && found.tls && digest.n == SHA256_HEX_MAX - 1 &&
            web_scope_from_name(json_text_of(json, "scope"), &found.scope) &&
            json_int64(json_get(json, "port"), &port) && port > 0 && port <= UINT16_MAX) {
                found.port = (unsigned)port;
                memcpy(found.digest, digest.data, digest.n);
                (void)json_int64(json_get(json, "since_us"), &found.since_us);
                record = server_record_fits(&found) ? server_record_copy(&found) : NULL;
        }
        free(found.host);
        free(found.tls);
        return record;
}

static void server_record_write(const ServerRecord *record, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "host", record->host);
        jw_field_uint(w, "port", record->port);
        jw_field_cstr(w, "tls", record->tls);
        jw_field_cstr(w, "scope", web_scope_name(record->scope));
        jw_field_cstr(w, "sha256", record->digest);
        jw_field_int(w, "since_us", record->since_us);
        jw_end_object(w);
}

/* ---- the list -------------------------------------------------------------------------------- */

const ServerRecord *servers_first(const Servers *servers) {
        return servers->first;
}

static ServerRecord *servers_find(Servers *self, const char *host, unsigned port) {
        for (ServerRecord *record = self->first; record; record = record->next)
                if (record->port == port && !strcmp(record->host, host))
                        return record;
        return NULL;
}

static void servers_insert(Servers *self, ServerRecord *record) {
        ServerRecord **at = &self->first;

        while (*at)
                at = &(*at)->next;
        *at = record;
        self->n++;
}

static void servers_drop(Servers *self, ServerRecord *record) {
        ServerRecord **at = &self->first;

        while (*at != record)
                at = &(*at)->next;
        *at = record->next;
        self->n--;
        server_record_free(record);
}

static int servers_write_text(Servers *self, const ServerRecord *coming, const ServerRecord *leaving) {
        JsonWriter w = JSON_WRITER(&self->text);

        self->text.n = 0;
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_key(&w, "servers");
        jw_begin_array(&w);
        for (const ServerRecord *record = self->first; record; record = record->next)
                if (record != leaving)
                        server_record_write(record, &w);
        if (coming)
                server_record_write(coming, &w);
        jw_end_array(&w);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void servers_change_free(ServersChange *change) {
        server_record_free(change->coming);
        free(change->host);
        free(change);
}

static void servers_end_change(Servers *self, int r) {
        ServersChange *change = steal(&self->at);

        if (!r && change->coming)
                servers_insert(self, steal(&change->coming));
        if (!r && change->leaving)
                servers_drop(self, change->leaving);
        lane_over(&self->lane);
        change->fn(change->user, r);
        servers_change_free(change);
}

static void servers_run(Lane *lane) {
        Servers *self = container_of(lane, Servers, lane);

        self->r = web_file_store(self->path, buf_str(&self->text));
}

static void servers_done(Lane *lane) {
        Servers *self = container_of(lane, Servers, lane);

        if (self->is_closed) /* it was forgotten while this was written */
                (void)web_file_remove(self->path);
        servers_end_change(self, self->is_closed ? -ECANCELED : self->r);
}

static int servers_prepare(Servers *self, ServersChange *change) {
        if (self->is_closed)
                return error_origin(-ECANCELED);
        if (change->coming) {
                if (servers_find(self, change->coming->host, change->coming->port))
                        return SERVERS_E_TAKEN;
                return self->n >= SERVERS_MAX ? SERVERS_E_FULL : 0;
        }
        change->leaving = servers_find(self, change->host, change->port);
        return change->leaving ? 0 : SERVERS_E_MISSING;
}

static void servers_begin(Lane *lane) {
        Servers *self = container_of(lane, Servers, lane);
        ServersChange *change = self->at = container_of(lane_take(lane), ServersChange, item);
        int r = servers_prepare(self, change);

        if (!r)
                r = servers_write_text(self, change->coming, change->leaving);
        if (!r)
                r = lane_work(lane, servers_run, servers_done);
        if (r)
                servers_end_change(self, r);
}

static const LaneType servers_lane = {.begin = servers_begin, .n_max = SERVERS_WAITING_MAX};

static int servers_add(Servers *self, ServersChange *change, bool is_whole, ServersFn fn, void *user) {
        int r;

        change->fn = fn;
        change->user = user;
        r = is_whole ? lane_add(&self->lane, &change->item) : -ENOMEM;
        if (r)
                servers_change_free(change);
        return error_trace(r);
}

int servers_keep(Servers *servers, const ServerRecord *what, ServersFn fn, void *user) {
        ServersChange *change = calloc(1, sizeof(*change));

        if (!change)
                return error_origin(-ENOMEM);
        change->coming = server_record_copy(what);
        assert(!change->coming || server_record_fits(change->coming));
        return servers_add(servers, change, change->coming, fn, user);
}

int servers_forget(Servers *servers, const char *host, unsigned port, ServersFn fn, void *user) {
        ServersChange *change = calloc(1, sizeof(*change));

        if (!change)
                return error_origin(-ENOMEM);
        change->host = strdup(host);
        change->port = port;
        return servers_add(servers, change, change->host, fn, user);
}

int servers_forget_all(Servers *servers) {
        servers->is_closed = true;
        return error_trace(web_file_remove(servers->path));
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int servers_load(Servers *self) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *list;
        int r = web_file_load(self->path, "servers", self->log, &arena, &text, &list);

        json_each (item, list) {
                ServerRecord *record = server_record_read(item);

                if (record && self->n < SERVERS_MAX && !servers_find(self, record->host, record->port))
                        servers_insert(self, record);
                else {
                        log_warning(self->log, self->path, "a record that is none was left out");
                        server_record_free(record);
                }
        }
        return error_trace(r);
}

int servers_open(Servers **ret, Loop *loop, Log *log, const char *home) {
        Servers *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        self->loop = loop;
        self->log = log;
        lane_init(&self->lane, loop, &servers_lane);
        self->path = web_file_path(home, "servers.json");
        r = self->path ? servers_load(self) : -ENOMEM;
        if (r) {
                servers_free(self);
                return error_trace(r);
        }
        *ret = self;
        return 0;
}

Servers *servers_free(Servers *servers) {
        LaneItem *item;

        if (!servers)
                return NULL;
        assert(!servers->at);
        while ((item = lane_take(&servers->lane)))
                servers_change_free(container_of(item, ServersChange, item));
        while (servers->first)
                servers_drop(servers, servers->first);
        lane_deinit(&servers->lane);
        buf_deinit(&servers->text);
        free(servers->path);
        free(servers);
        return NULL;
}
