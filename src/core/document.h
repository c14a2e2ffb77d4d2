#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Document: one small YAML or JSON file that other programs edit too, as a tree, together with the identity
 * of the file it was read from.
 *
 * A document that others can see is never changed in place: whoever wants a change makes a clone, edits
 * that, has it written, and puts it in the place of the old one once it is kept. So a failed write leaves
 * nothing to undo, and whoever holds a reference can go on reading. Unknown members stay, because the tree
 * is the file. References are counted by one thread at a time: the loop, or the worker that an object is
 * with; a worker may make and fill one that nobody else knows yet.
 */
#include "base/file.h"
#include "base/json/json.h"

/* DOCUMENT_MATTER: YAML between two lines "---" at the beginning of a text; the rest is its body. */
typedef enum DocumentFormat { DOCUMENT_YAML, DOCUMENT_JSON, DOCUMENT_MATTER } DocumentFormat;

enum { _DOCUMENT_E_SUCCESS, DOCUMENT_E_MISSING, DOCUMENT_E_BROKEN, DOCUMENT_E_EMPTY };

enum { DOCUMENT_MAX = 16 << 20 }; /* a larger file counts as broken */

typedef struct Document {
        unsigned n_refs;
        Arena arena;
        Json *json;            /* an object, always */
        Str body;              /* DOCUMENT_MATTER: what stands behind the front matter, as it was */
        FileIdentity identity; /* of the file that it was read from or written to; all zero: none */
} Document;

/* Worker. Conditions: DOCUMENT_E_MISSING; DOCUMENT_E_BROKEN (does not parse, is no mapping, too large);
 * DOCUMENT_E_EMPTY (a YAML text that says nothing: blank, or comments). */
int document_read(Document **ret, const char *path, DocumentFormat format);
/* The same for a file whose identity the caller has just taken, and that may have n_max bytes. */
int document_read_known(Document **ret, const char *path, DocumentFormat format, size_t n_max,
                        const FileIdentity *identity);
/* The tree of a text, without a Document around it; all of it lies in the arena, the text does not need to
 * stay. ret_body may be NULL. what (may be NULL): why it is broken. Condition: DOCUMENT_E_BROKEN. */
enum { DOCUMENT_WHAT_MAX = 192 }; /* bytes of that text */
int document_parse(Arena *arena, Str text, DocumentFormat format, Json **ret, Str *ret_body,
                   char what[DOCUMENT_WHAT_MAX]);
/* The same of a file below a folder, through no link. Conditions: those of document_read(). */
int document_load(Arena *arena, int root, const char *path, DocumentFormat format, Json **ret, Str *ret_body,
                  char what[DOCUMENT_WHAT_MAX]);
/* The bytes of such a file. Conditions: FILE_E_MISSING, FILE_E_TOO_LARGE. */
int document_bytes(int root, const char *path, size_t n_max, Buf *out);
/* Both halves of a text with front matter; false: it has none. */
bool document_split(Str text, Str *ret_matter, Str *ret_body);
/* The text of a tree; body: of DOCUMENT_MATTER. */
int document_text(const Json *json, DocumentFormat format, Str body, Buf *out);
Document *document_new(void);                     /* {}; NULL without memory */
Document *document_clone(const Document *source); /* NULL without memory */
Document *document_ref(Document *document);
Document *document_unref(Document *document); /* NULL is fine; returns NULL */
void document_unrefp(Document **document);
/* The text of the file. */
int document_write(const Document *document, DocumentFormat format, Buf *out);

/* Whether the file at path is still the one that was read; no file counts as all zero. Loop or worker. */
bool document_is_fresh(const Document *document, const char *path);

/* Setters for documents that nobody else sees yet. 0 or -ENOMEM. object lies in document. */
int document_set_str(Document *document, Json *object, const char *key, Str value);
int document_set_bool(Document *document, Json *object, const char *key, bool value);
int document_set_int(Document *document, Json *object, const char *key, int64_t value);
int document_set(Document *document, Json *object, const char *key, const Json *value); /* copies */
/* The object under key, made when it is missing or something else. NULL without memory. */
Json *document_section(Document *document, Json *object, const char *key);
/* Known keys of the object first, in this order (NULL-terminated); the others follow as they stood. */
int document_order(Document *document, Json *object, const char *const keys[]);
