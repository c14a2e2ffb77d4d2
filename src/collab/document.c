/* SPDX-License-Identifier: MIT */
#include "collab/document.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json-writer.h"
#include "base/yaml.h"

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
        document->json = json_clone(&document->arena, source->json);
        return document->json ? document : document_unref(document);
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

static int document_parse(Document *document, Str text, DocumentFormat format) {
        Json *json = NULL;
        int r;

        text = arena_str(&document->arena, text);
        if (!text.data)
                return error_origin(-ENOMEM);
        if (format == DOCUMENT_YAML)
                r = yaml_parse(&document->arena, text, &json, NULL);
        else
                r = json_parse(&document->arena, text.data, text.n, NULL, &json, NULL);
        if (r < 0)
                return error_trace(r);
        if (r || !json_is(json, JSON_OBJECT))
                return DOCUMENT_E_BROKEN;
        document->json = json;
        return 0;
}

/* The identity is taken before the bytes: a change in between shows as a file that is not fresh. */
int document_read(Document **ret, const char *path, DocumentFormat format) {
        _cleanup_(document_unrefp) Document *document = document_new();
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        if (!document)
                return error_origin(-ENOMEM);
        r = file_identify(path, &document->identity);
        if (!r)
                r = file_read(path, DOCUMENT_MAX, &text);
        if (r == FILE_E_MISSING)
                return DOCUMENT_E_MISSING;
        if (r > 0)
                return DOCUMENT_E_BROKEN;
        if (!r)
                r = document_parse(document, buf_str(&text), format);
        if (r)
                return error_trace(r);
        *ret = steal(&document);
        return 0;
}

int document_write(const Document *document, DocumentFormat format, Buf *out) {
        int r;

        if (format == DOCUMENT_YAML)
                return error_fold(yaml_write(out, document->json));
        r = json_write_pretty(out, document->json, 2);
        if (!r)
                r = buf_append_str(out, STR("\n"));
        return error_trace(r);
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

static int document_move(Document *document, Json *to, const Json *from, Str key) {
        Json *value = json_get_str(from, key);

        if (!value || json_get_str(to, key))
                return 0;
        return error_trace(json_set(&document->arena, to, key, json_clone(&document->arena, value)));
}

int document_order(Document *document, const char *const keys[]) {
        Json *ordered = json_new(&document->arena, JSON_OBJECT);
        int r = ordered ? 0 : error_origin(-ENOMEM);

        for (; !r && *keys; keys++)
                r = document_move(document, ordered, document->json, str_from(*keys));
        json_each (member, r ? NULL : document->json)
                if (!r)
                        r = document_move(document, ordered, document->json, json_key(member));
        if (!r)
                document->json = ordered;
        return error_trace(r);
}
