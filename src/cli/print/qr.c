/* SPDX-License-Identifier: MIT */
#include "cli/print/qr.h"

#include <errno.h>
#include <qrencode.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/print/report.h"
#include "cli/term/terminal.h"

enum {
        QR_QUIET = 2
}; /* modules around it; phones want no more from a screen, and 4 would cost a third of the rows */

static bool qr_is_dark(const QRcode *code, int x, int y) {
        return x >= 0 && y >= 0 && x < code->width && y < code->width &&
               (code->data[y * code->width + x] & 1);
}

static void qr_put_block(FILE *out, bool upper, bool lower) {
        fputs(upper ? lower ? "\u2588" : "\u2580" : lower ? "\u2584" : " ", out);
}

static void qr_print_blocks(FILE *out, const QRcode *code) {
        for (int y = -QR_QUIET; y < code->width + QR_QUIET; y += 2) {
                fputs("\x1b[30;47m", out); /* black on white */
                for (int x = -QR_QUIET; x < code->width + QR_QUIET; x++)
                        qr_put_block(out, qr_is_dark(code, x, y), qr_is_dark(code, x, y + 1));
                fputs("\x1b[0m\n", out);
        }
}

static void qr_print_ascii(FILE *out, const QRcode *code) {
        for (int y = -QR_QUIET; y < code->width + QR_QUIET; y++) {
                for (int x = -QR_QUIET; x < code->width + QR_QUIET; x++)
                        fputs(qr_is_dark(code, x, y) ? "##" : "  ", out);
                fputs("\n", out);
        }
}

int qr_print(FILE *out, const char *text, QrStyle style, unsigned n_columns) {
        QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L);
        unsigned n_wide;

        if (!code)
                return errno == ENOMEM ? error_origin(-ENOMEM) : QR_E_LONG;
        n_wide = (unsigned)(code->width + 2 * QR_QUIET) * (style == QR_ASCII ? 2 : 1);
        if (n_wide <= n_columns && style == QR_ASCII)
                qr_print_ascii(out, code);
        else if (n_wide <= n_columns)
                qr_print_blocks(out, code);
        QRcode_free(code);
        return n_wide <= n_columns ? 0 : QR_E_NARROW;
}

void qr_show(const char *text, QrStyle style) {
        unsigned cols = 0, rows = 0;

        if (isatty(STDOUT_FILENO) && terminal_size(&cols, &rows) &&
            qr_print(stdout, text, style, cols) == QR_E_NARROW)
                advise("This terminal is too narrow for a QR code.");
}
