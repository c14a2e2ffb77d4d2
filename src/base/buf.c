/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

void buf_deinit(Buf *buf) {
        free(buf->data);
        *buf = BUF_NULL;
}

int buf_reserve_slow(Buf *buf, size_t n) {
        size_t cap = buf->cap ? buf->cap * 2 : 256;
        char *data;

        if (n > SIZE_MAX / 4 || buf->n > SIZE_MAX / 4)
                return error_origin(-ENOMEM);
        if (cap < buf->n + n)
                cap = buf->n + n;
        data = realloc(buf->data, cap);
        if (!data)
                return error_origin(-ENOMEM);
        buf->data = data;
        buf->cap = cap;
        return 0;
}

void buf_wipe(Buf *buf) {
        if (buf->data)
                explicit_bzero(buf->data, buf->cap);
        buf_deinit(buf);
}

int buf_reserve_wiping(Buf *buf, size_t n) {
        Buf larger = BUF_NULL;
        int r;

        if (buf->cap - buf->n >= n)
                return 0;
        r = n > SIZE_MAX / 4 || buf->n > SIZE_MAX / 4
                    ? error_origin(-ENOMEM)
                    : buf_reserve_slow(&larger, MAX(buf->cap * 2, buf->n + n));
        if (r)
                return error_trace(r);
        if (buf->n)
                memcpy(larger.data, buf->data, buf->n);
        larger.n = buf->n;
        buf_wipe(buf);
        *buf = larger;
        return 0;
}

int buf_append(Buf *buf, const void *data, size_t n) {
        int r = buf_reserve(buf, n);

        if (r)
                return error_trace(r);
        if (n)
                memcpy(buf->data + buf->n, data, n);
        buf->n += n;
        return 0;
}

int buf_printf(Buf *buf, const char *format, ...) {
        va_list ap;
        int n, r;

        va_start(ap, format);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        if (n < 0)
                return error_origin(-EINVAL);
        r = buf_reserve(buf, (size_t)n + 1);
        if (r)
                return error_trace(r);
        va_start(ap, format);
        vsnprintf(buf->data + buf->n, (size_t)n + 1, format, ap);
        va_end(ap);
        buf->n += (size_t)n;
        return 0;
}

void buf_consume(Buf *buf, size_t n) {
        if (n >= buf->n) {
                buf->n = 0;
                return;
        }
        if (n)
                memmove(buf->data, buf->data + n, buf->n - n);
        buf->n -= n;
}

const char *buf_cstr(Buf *buf) {
        if (buf_reserve(buf, 1))
                return NULL;
        buf->data[buf->n] = 0;
        return buf->data;
}
