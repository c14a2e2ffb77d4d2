/* SPDX-License-Identifier: MIT */
#include "core/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/json/yaml.h"

Document *document_new(void) {
        Document *document = calloc(1, sizeof(*document));

        if (!document)
                return NULL;
        document->n_refs = 1;
        document->json = json_new(&document->arena, JSON_OBJECT);
        return document->json ? document : document_unref(document);
}

Document *document_clone(const Document *source) {
        Document *document = calloc(1, sizeof(*document));

        if (!document)
                return NULL;
        document->n_refs = 1;
        document->identity = source->identity;
        document->body = arena_str(&document->arena, source->body);
        document->json = json_clone(&document->arena, source->json);
        return document->json && document->body.data ? document : document_unref(document);
}

Document *document_ref(Document *document) {
        document->n_refs++;
        return document;
}

Document *document_unref(Document *document) {
        if (!document || --document->n_refs)
                return NULL;
        arena_deinit(&document->arena);
        free(document);
        return NULL;
}

void document_unrefp(Document **document) {
        document_unref(*document);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The line that begins at the front, without its end; the rest follows. */
static Str document_line(Str *rest) {
        const char *end = rest->n ? memchr(rest->data, '\n', rest->n) : NULL;
        size_t n = end ? (size_t)(end - rest->data) : rest->n;
        Str line = {rest->data, n};

        if (line.n && line.data[line.n - 1] == '\r')
                line.n--;
        *rest = (Str){rest->data + n + (end ? 1 : 0), rest->n - n - (end ? 1 : 0)};
        return line;
}

bool document_split(Str text, Str *ret_matter, Str *ret_body) {
        Str rest = text;
        const char *start;

        if (!str_is(document_line(&rest), "---"))
                return false;
        start = rest.data;
        while (rest.n) {
                const char *at = rest.data;

                if (str_is(document_line(&rest), "---")) {
                        *ret_matter = (Str){start, (size_t)(at - start)};
                        *ret_body = rest;
                        return true;
                }
        }
        return false;
}

static int document_broken(char what[DOCUMENT_WHAT_MAX], const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static int document_broken(char what[DOCUMENT_WHAT_MAX], const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        if (what)
                vsnprintf(what, DOCUMENT_WHAT_MAX, format, ap);
        va_end(ap);
        return DOCUMENT_E_BROKEN;
}

static int document_parse_yaml(Arena *arena, Str text, Json **ret, char what[DOCUMENT_WHAT_MAX]) {
        YamlFault fault = {0};
        int r = yaml_parse(arena, text, ret, &fault);

        if (r < 0)
                return error_trace(r);
        return r ? document_broken(what, "line %zu, column %zu: %s", fault.line, fault.column, fault.what)
                 : 0;
}

static int document_parse_json(Arena *arena, Str text, Json **ret, char what[DOCUMENT_WHAT_MAX]) {
        JsonFault fault = {0};
        int r = json_parse(arena, text.data, text.n, NULL, ret, &fault);

        if (r < 0)
                return error_trace(r);
        return r ? document_broken(what, "byte %zu: %s", fault.offset, fault.what) : 0;
}

/* Any value. */
static int document_parse_value(Arena *arena, Str text, DocumentFormat format, Json **ret, Str *ret_body,
                                char what[DOCUMENT_WHAT_MAX]) {
        text = arena_str(arena, text);
        if (!text.data)
                return error_origin(-ENOMEM);
        if (format == DOCUMENT_MATTER && !document_split(text, &text, ret_body))
                return document_broken(what, "it has no front matter");
        return format == DOCUMENT_JSON ? document_parse_json(arena, text, ret, what)
                                       : document_parse_yaml(arena, text, ret, what);
}

int document_parse(Arena *arena, Str text, DocumentFormat format, Json **ret, Str *ret_body,
                   char what[DOCUMENT_WHAT_MAX]) {
        Str body = STR_NULL;
        Json *json = NULL;
        int r = document_parse_value(arena, text, format, &json, &body, what);

        if (r)
                return error_trace(r);
        if (!json_is(json, JSON_OBJECT))
                return document_broken(what, "it is no mapping");
        *ret = json;
        if (ret_body)
                *ret_body = body;
        return 0;
}

int document_bytes(int root, const char *path, size_t n_max, Buf *out) {
        int fd = path_open_beneath(root, path, O_RDONLY | O_NONBLOCK, 0), r;

        if (fd == -ENOENT || fd == -ENOTDIR)
                return FILE_E_MISSING;
        if (fd < 0)
                return error_trace(fd);
        r = file_read_fd(fd, n_max, out);
        close(fd);
        return error_trace(r);
}

int document_load(Arena *arena, int root, const char *path, DocumentFormat format, Json **ret, Str *ret_body,
                  char what[DOCUMENT_WHAT_MAX]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = document_bytes(root, path, DOCUMENT_MAX, &text);

        if (r == FILE_E_MISSING)
                return DOCUMENT_E_MISSING;
        if (r > 0)
                return document_broken(what, "it is over %d bytes", DOCUMENT_MAX);
        if (r == -ELOOP || r == -EXDEV || r == -EISDIR || r == -EACCES)
                return document_broken(what, "it cannot be read: %s", strerror(-r));
        return r ? error_trace(r) : document_parse(arena, buf_str(&text), format, ret, ret_body, what);
}

int document_read_known(Document **ret, const char *path, DocumentFormat format, size_t n_max,
                        const FileIdentity *identity) {
        _cleanup_(document_unrefp) Document *document = document_new();
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = document ? file_read(path, n_max, &text) : error_origin(-ENOMEM);

        if (r == FILE_E_MISSING)
                return DOCUMENT_E_MISSING;
        if (r > 0)
                return DOCUMENT_E_BROKEN;
        if (!r)
                r = document_parse_value(&document->arena, buf_str(&text), format, &json, &document->body,
                                         NULL);
        if (r)
                return error_trace(r);
        if (!json_is(json, JSON_OBJECT))
                return format == DOCUMENT_YAML && json_is(json, JSON_NULL) ? DOCUMENT_E_EMPTY
                                                                           : DOCUMENT_E_BROKEN;
        document->json = json;
        document->identity = *identity;
        *ret = steal(&document);
        return 0;
}

/* The identity is taken before the bytes: a change in between shows as a file that is not fresh. */
int document_read(Document **ret, const char *path, DocumentFormat format) {
        FileIdentity identity;
        int r = file_identify(path, &identity);

        return error_trace(r ? r : document_read_known(ret, path, format, DOCUMENT_MAX, &identity));
}

int document_text(const Json *json, DocumentFormat format, Str body, Buf *out) {
        size_t n_before = out->n;
        int r;

        if (format == DOCUMENT_JSON) {
                r = json_write_pretty(out, json, 2);
                return r ? error_trace(r) : error_trace(buf_append_str(out, STR("\n")));
        }
        if (format == DOCUMENT_YAML)
                return error_fold(yaml_write(out, json));
        r = buf_append_str(out, STR("---\n"));
        if (!r)
                r = error_fold(yaml_write(out, json));
        if (!r)
                r = buf_append_str(out, STR("---\n"));
        if (!r)
                r = buf_append_str(out, body);
        if (r)
                out->n = n_before;
        return error_trace(r);
}

int document_write(const Document *document, DocumentFormat format, Buf *out) {
        return document_text(document->json, format, document->body, out);
}

bool document_is_fresh(const Document *document, const char *path) {
        FileIdentity now = {0};

        if (file_identify(path, &now) < 0)
                return false;
        return document && file_identity_eq(&now, &document->identity);
}

/* ---- setters --------------------------------------------------------------------------------- */

static int document_put(Document *document, Json *object, const char *key, Json *value) {
        return error_trace(json_set(&document->arena, object, str_from(key), value));
}

int document_set_str(Document *document, Json *object, const char *key, Str value) {
        return document_put(document, object, key, json_new_str(&document->arena, value));
}

int document_set_bool(Document *document, Json *object, const char *key, bool value) {
        return document_put(document, object, key, json_new_bool(&document->arena, value));
}

int document_set_int(Document *document, Json *object, const char *key, int64_t value) {
        return document_put(document, object, key, json_new_int(&document->arena, value));
}

int document_set(Document *document, Json *object, const char *key, const Json *value) {
        return document_put(document, object, key, json_clone(&document->arena, value));
}

Json *document_section(Document *document, Json *object, const char *key) {
        Json *section = json_get(object, key);

        if (json_is(section, JSON_OBJECT))
                return section;
        section = json_new(&document->arena, JSON_OBJECT);
        return document_put(document, object, key, section) ? NULL : section;
}

/* Takes the member out and puts it back behind all others. */
static int document_move_last(Document *document, Json *object, Str key, Json *value) {
        json_remove(object, key);
        return error_trace(json_set(&document->arena, object, key, value));
}

static bool document_is_listed(Str key, const char *const keys[]) {
        for (; *keys; keys++)
                if (str_is(key, *keys))
                        return true;
        return false;
}

int document_order(Document *document, Json *object, const char *const keys[]) {
        size_t n = json_count(object);
        int r = 0;

        for (size_t i = 0; !r && keys[i]; i++) {
                Json *value = json_get(object, keys[i]);

                if (value)
                        r = document_move_last(document, object, str_from(keys[i]), value);
        }
        /* Now the unknown ones are in front, in their own order. */
        for (Json *first;
             !r && n-- && (first = json_first(object)) && !document_is_listed(json_key(first), keys);)
                r = document_move_last(document, object, json_key(first), first);
        return error_trace(r);
}
