/* SPDX-License-Identifier: MIT */
/* Lists of what was decided and asked. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "company/place.h"
#include "company/workspace.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

/* Whether a line of the body is this heading, whatever the case of its letters. */
static bool inbox_has_heading(Str body, const char *heading) {
        while (body.n) {
                const char *end = memchr(body.data, '\n', body.n);
                Str line = str_trim((Str){body.data, end ? (size_t)(end - body.data) : body.n});
                size_t n = end ? (size_t)(end - body.data) + 1 : body.n;
                bool is_heading = str_starts(line, STR("#"));

                while (str_starts(line, STR("#")))
                        line = (Str){line.data + 1, line.n - 1};
                line = str_trim(line);
                if (is_heading && line.n == strlen(heading) && !strncasecmp(line.data, heading, line.n))
                        return true;
                body = (Str){body.data + n, body.n - n};
        }
        return false;
}

/* What a folder of the inbox holds. */
typedef struct InboxKind {
        const char *folder, *suffix;
        DocumentFormat format;
        const Shape *shape;
        const char *headings[3]; /* that a body has to have */
} InboxKind;

/* Writes a document if it is what it should be. 0 or negative. */
static int inbox_write(Reading *reading, const InboxKind *kind, Str name) {
        Str path =
                arena_printf(reading->arena, "%s/" STR_FMT "%s", kind->folder, STR_ARG(name), kind->suffix);
        Json *document = NULL;
        Str body = STR_NULL;
        int r = path.data ? document_load(reading->arena, reading->root, path.data, kind->format, &document,
                                          &body, NULL)
                          : -ENOMEM;

        if (r == -ENOMEM)
                return error_trace(r);
        if (r || !shape_fits(kind->shape, document))
                return 0;
        for (size_t i = 0; kind->headings[i]; i++)
                if (!inbox_has_heading(body, kind->headings[i]))
                        return 0;
        jw_value(reading->w, document);
        return 0;
}

/* Documents of a folder, names from the last to the first. The cut counts those that are passed over, too. */
static int inbox_list(Reading *reading, const InboxKind *kind, int64_t limit) {
        StrList names = {0};
        int r = place_names(reading->arena, reading->root, kind->folder, kind->suffix, &names);

        jw_begin_array(reading->w);
        for (size_t i = 0; !r && i < names.n && i < (size_t)limit; i++)
                r = inbox_write(reading, kind, names.items[names.n - 1 - i]);
        jw_end_array(reading->w);
        return error_trace(r);
}

static int inbox_read_reviews(Reading *reading, const Carry *carry) {
        const AgentcompanyInboxListReviewsArgs *args =
                container_of(carry, AgentcompanyInboxListReviewsArgs, carry);
        static const InboxKind kind = {PLACE_REVIEWS, ".yaml", DOCUMENT_YAML, &shape_review, {NULL}};

        return inbox_list(reading, &kind, args->limit);
}

int op_agentcompany_inbox_list_reviews(Call *call, Workspace *workspace,
                                       const AgentcompanyInboxListReviewsArgs *args) {
        return workspace_read(call, workspace, inbox_read_reviews, &args->carry);
}

static int inbox_read_help_requests(Reading *reading, const Carry *carry) {
        const AgentcompanyInboxListHelpRequestsArgs *args =
                container_of(carry, AgentcompanyInboxListHelpRequestsArgs, carry);
        static const InboxKind kind = {
                PLACE_HELP, ".md", DOCUMENT_MATTER, &shape_help_request, {"Question", "Response", NULL}};

        return inbox_list(reading, &kind, args->limit);
}

int op_agentcompany_inbox_list_help_requests(Call *call, Workspace *workspace,
                                             const AgentcompanyInboxListHelpRequestsArgs *args) {
        return workspace_read(call, workspace, inbox_read_help_requests, &args->carry);
}
