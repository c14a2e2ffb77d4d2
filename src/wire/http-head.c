/* SPDX-License-Identifier: MIT */
#include "wire/http-head.h"

#include "base/macro.h"

/* RFC 9110, 5.6.2. */
static bool head_is_token(Str s) {
        static const bool is_char[256] = {
                ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
                ['#'] = true,         ['$'] = true,         ['%'] = true,         ['&'] = true,
                ['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true,
                ['.'] = true,         ['^'] = true,         ['_'] = true,         ['`'] = true,
                ['|'] = true,         ['~'] = true,
        };

        for (size_t i = 0; i < s.n; i++)
                if (!is_char[(unsigned char)s.data[i]])
                        return false;
        return s.n;
}

/* Fields that parsing itself looks at. */
typedef enum HeadKnown {
        HEAD_HOST,
        HEAD_CONNECTION,
        HEAD_UPGRADE,
        HEAD_TRANSFER,
        HEAD_LENGTH, /* from here on: what two programs could read differently if it were there twice */
        HEAD_EXPECT,
        HEAD_AUTHORIZATION,
        HEAD_TYPE,
        HEAD_IF_RANGE,
        HEAD_ORIGIN,
        HEAD_RANGE,
        HEAD_WEBSOCKET_KEY,
        HEAD_WEBSOCKET_VERSION,
        _HEAD_KNOWN,
} HeadKnown;

static const Str head_known[_HEAD_KNOWN] = {
        [HEAD_HOST] = STR("Host"),
        [HEAD_CONNECTION] = STR("Connection"),
        [HEAD_UPGRADE] = STR("Upgrade"),
        [HEAD_TRANSFER] = STR("Transfer-Encoding"),
        [HEAD_LENGTH] = STR("Content-Length"),
        [HEAD_EXPECT] = STR("Expect"),
        [HEAD_AUTHORIZATION] = STR("Authorization"),
        [HEAD_TYPE] = STR("Content-Type"),
        [HEAD_IF_RANGE] = STR("If-Range"),
        [HEAD_ORIGIN] = STR("Origin"),
        [HEAD_RANGE] = STR("Range"),
        [HEAD_WEBSOCKET_KEY] = STR("Sec-WebSocket-Key"),
        [HEAD_WEBSOCKET_VERSION] = STR("Sec-WebSocket-Version"),
};

static const struct {
        unsigned status;
        const char *reason;
} head_faults[_HTTP_E_N] = {
        [HTTP_E_LINE] = {400, "lines have to end in CR LF"},
        [HTTP_E_REQUEST] = {400, "not a request line"},
        [HTTP_E_METHOD] = {400, "not a method"},
        [HTTP_E_TARGET] = {400, "not a target of this server"},
        [HTTP_E_VERSION] = {505, "HTTP/1.1 is spoken here"},
        [HTTP_E_NAME] = {400, "not a field name"},
        [HTTP_E_VALUE] = {400, "control bytes in a field"},
        [HTTP_E_FOLDED] = {400, "a folded field"},
        [HTTP_E_FIELDS] = {431, "too many fields"},
        [HTTP_E_HOST] = {400, "exactly one Host is required"},
        [HTTP_E_LENGTH] = {400, "not a Content-Length"},
        [HTTP_E_TWICE] = {400, "a field that may be there once was there twice"},
        [HTTP_E_TRANSFER] = {411, "a body needs a Content-Length here"},
        [HTTP_E_AMBIGUOUS] = {400, "Content-Length together with Transfer-Encoding"},
        [HTTP_E_EXPECT] = {417, "this cannot be expected here"},
};

unsigned http_head_status(int condition) {
        return condition > 0 && condition < _HTTP_E_N ? head_faults[condition].status : 500;
}

const char *http_head_reason(int condition) {
        return condition > 0 && condition < _HTTP_E_N ? head_faults[condition].reason : "internal error";
}

/* ---- fields ---------------------------------------------------------------------------------- */

bool http_head_find(const HttpHead *head, Str name, Str *ret) {
        for (size_t i = 0; i < head->n_fields; i++) {
                if (!str_eq_nocase(head->fields[i].name, name))
                        continue;
                *ret = head->fields[i].value;
                return true;
        }
        return false;
}

static Str head_trim(Str s) {
        while (s.n && (s.data[0] == ' ' || s.data[0] == '\t'))
                s.data++, s.n--;
        while (s.n && (s.data[s.n - 1] == ' ' || s.data[s.n - 1] == '\t'))
                s.n--;
        return s;
}

HttpItems http_items(const HttpHead *head, Str name) {
        return (HttpItems){.head = head, .name = name};
}

bool http_items_next(HttpItems *items, Str *ret) {
        for (;;) {
                const char *comma;
                size_t n;

                while (!items->rest.n) {
                        const HttpField *field = &items->head->fields[items->i_next];

                        if (items->i_next == items->head->n_fields)
                                return false;
                        items->i_next++;
                        if (str_eq_nocase(field->name, items->name))
                                items->rest = field->value;
                }
                comma = memchr(items->rest.data, ',', items->rest.n);
                n = comma ? (size_t)(comma - items->rest.data) : items->rest.n;
                *ret = head_trim((Str){items->rest.data, n});
                n += !!comma;
                items->rest = (Str){items->rest.data + n, items->rest.n - n};
                if (ret->n)
                        return true;
        }
}

bool http_head_has_item(const HttpHead *head, Str name, Str item) {
        HttpItems items = http_items(head, name);
        Str each;

        while (http_items_next(&items, &each))
                if (str_eq_nocase(each, item))
                        return true;
        return false;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* The next line, without its CR LF. False: there is none that ends so, or a CR or LF stands inside. */
static bool head_take_line(Str *rest, Str *ret) {
        const char *end = memchr(rest->data, '\n', rest->n);
        size_t n = end ? (size_t)(end - rest->data) : 0;

        if (!n || end[-1] != '\r' || memchr(rest->data, '\r', n - 1))
                return false;
        *ret = (Str){rest->data, n - 1};
        *rest = (Str){rest->data + n + 1, rest->n - n - 1};
        return true;
}

static bool head_take_word(Str *line, Str *ret) {
        const char *blank = line->n ? memchr(line->data, ' ', line->n) : NULL;
        size_t n = blank ? (size_t)(blank - line->data) : 0;

        if (!n)
                return false;
        *ret = (Str){line->data, n};
        *line = (Str){line->data + n + 1, line->n - n - 1};
        return true;
}

static bool head_target_is_good(const HttpHead *head) {
        Str target = head->target;
        bool is_wrong = false;

        for (size_t i = 0; i < target.n; i++) /* all of it: in steps of many bytes */
                is_wrong |= target.data[i] <= ' ' || target.data[i] > '~' || target.data[i] == '#';
        if (is_wrong)
                return false;
        return target.data[0] == '/' || (str_is(target, "*") && str_is(head->method, "OPTIONS"));
}

static int head_parse_request(HttpHead *head, Str line) {
        Str version;

        if (!head_take_word(&line, &head->method) || !head_take_word(&line, &head->target))
                return HTTP_E_REQUEST;
        version = line;
        if (version.n != 8 || !str_starts(version, STR("HTTP/")) || version.data[6] != '.' ||
            version.data[5] < '0' || version.data[5] > '9' || version.data[7] < '0' || version.data[7] > '9')
                return HTTP_E_REQUEST;
        if (!head_is_token(head->method))
                return HTTP_E_METHOD;
        if (!str_is(version, "HTTP/1.1"))
                return HTTP_E_VERSION;
        return head_target_is_good(head) ? 0 : HTTP_E_TARGET;
}

static bool head_value_is_good(Str value) {
        bool is_wrong = false;

        for (size_t i = 0; i < value.n; i++) { /* all of it: in steps of many bytes */
                unsigned char c = (unsigned char)value.data[i];

                is_wrong |= (c < ' ' && c != '\t') || c == 0x7f;
        }
        return !is_wrong;
}

static void head_note(HttpHead *head, Str name) {
        for (unsigned i = 0; i < _HEAD_KNOWN; i++)
                if (str_eq_nocase(name, head_known[i])) {
                        head->twice |= head->known & 1U << i;
                        head->known |= 1U << i;
                        return;
                }
}

static bool head_has(const HttpHead *head, HeadKnown which) {
        return head->known & 1U << which;
}

static int head_parse_field(HttpHead *head, Str line) {
        const char *colon = memchr(line.data, ':', line.n);
        size_t n = colon ? (size_t)(colon - line.data) : 0;
        HttpField field = {.name = {line.data, n}};

        if (line.data[0] == ' ' || line.data[0] == '\t')
                return HTTP_E_FOLDED;
        if (!head_is_token(field.name))
                return HTTP_E_NAME;
        field.value = head_trim((Str){colon + 1, line.n - n - 1});
        if (!head_value_is_good(field.value))
                return HTTP_E_VALUE;
        if (head->n_fields == HTTP_FIELDS_MAX)
                return HTTP_E_FIELDS;
        head->fields[head->n_fields++] = field;
        head_note(head, field.name);
        return 0;
}

static int head_check_single(const HttpHead *head) {
        if (!head_has(head, HEAD_HOST) || head->twice & 1U << HEAD_HOST)
                return HTTP_E_HOST;
        return head->twice >> HEAD_LENGTH ? HTTP_E_TWICE : 0;
}

static int head_read_length(HttpHead *head) {
        bool has_transfer = head_has(head, HEAD_TRANSFER);
        Str digits;

        if (!head_has(head, HEAD_LENGTH))
                return has_transfer ? HTTP_E_TRANSFER : 0;
        digits = http_head_get(head, head_known[HEAD_LENGTH]);
        if (has_transfer)
                return HTTP_E_AMBIGUOUS;
        if (!digits.n || digits.n > 18)
                return HTTP_E_LENGTH;
        for (size_t i = 0; i < digits.n; i++) {
                if (digits.data[i] < '0' || digits.data[i] > '9')
                        return HTTP_E_LENGTH;
                head->n_body = head->n_body * 10 + (uint64_t)(digits.data[i] - '0');
        }
        return 0;
}

static void head_read_connection(HttpHead *head) {
        if (!head_has(head, HEAD_CONNECTION))
                return;
        head->closes = http_head_has_item(head, STR("Connection"), STR("close"));
        head->wants_websocket = head_has(head, HEAD_UPGRADE) && str_is(head->method, "GET") &&
                                http_head_has_item(head, STR("Connection"), STR("upgrade")) &&
                                http_head_has_item(head, STR("Upgrade"), STR("websocket"));
}

static int head_read_wishes(HttpHead *head) {
        head->host = http_head_get(head, STR("Host"));
        if (!http_host_split(head->host, &head->server))
                return HTTP_E_HOST;
        head->wants_continue = head_has(head, HEAD_EXPECT);
        if (head->wants_continue && !str_eq_nocase(http_head_get(head, STR("Expect")), STR("100-continue")))
                return HTTP_E_EXPECT;
        head_read_connection(head);
        return 0;
}

static int head_parse_lines(HttpHead *head, Str rest) {
        Str line;
        int r;

        if (!rest.n || !head_take_line(&rest, &line))
                return HTTP_E_LINE;
        r = head_parse_request(head, line);
        while (!r) {
                if (!rest.n || !head_take_line(&rest, &line))
                        return HTTP_E_LINE;
                if (!line.n)
                        return rest.n ? HTTP_E_LINE : 0;
                r = head_parse_field(head, line);
        }
        return r;
}

int http_head_parse(Str bytes, HttpHead *ret) {
        int r;

        /* Not all of it: most of the fields are not used. */
        memset(ret, 0, offsetof(HttpHead, fields));
        r = head_parse_lines(ret, bytes);
        if (!r)
                r = head_check_single(ret);
        if (!r)
                r = head_read_length(ret);
        if (!r)
                r = head_read_wishes(ret);
        return r;
}
