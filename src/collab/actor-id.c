/* SPDX-License-Identifier: MIT */
#include "collab/actor-id.h"

#include <locale.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>

#include "base/macro.h"

bool actor_id_is_reserved(Str id) {
        static const char *const words[] = {"user",  "all",   "system", "foreman",
                                            "peers", "admin", "root",   "cccc"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (id.n == strlen(words[i]) && !strncasecmp(id.data, words[i], id.n))
                        return true;
        return false;
}

/* In the thread's locale, which the caller made a UTF-8 one. */
static bool has_good_characters(Str id) {
        mbstate_t state = {0};
        size_t n = 0, n_bytes;
        wchar_t c;

        for (size_t i = 0; i < id.n; i += n_bytes, n++) {
                n_bytes = mbrtowc(&c, id.data + i, id.n - i, &state);
                if (n_bytes == 0 || n_bytes > id.n - i)
                        return false;
                if (!iswalnum((wint_t)c) && c != L'_' && (c != L'-' || n == 0))
                        return false;
        }
        return n >= 1 && n <= ACTOR_ID_MAX;
}

bool actor_id_is_valid(Str id) {
        locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before;
        bool is_good;

        if (!utf8)
                return false;
        before = uselocale(utf8);
        is_good = has_good_characters(id);
        uselocale(before);
        freelocale(utf8);
        return is_good;
}
