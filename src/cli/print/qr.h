#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A QR code for a person's phone, drawn with half blocks (two modules in a character) or, in ASCII, with pairs of
 * characters. Dark on light whatever the terminal's colours, with the quiet zone that readers want, at the lowest level of
 * correction: nothing on a screen gets dirty. By libqrencode.
 */
#include <stdio.h>

typedef enum QrStyle { QR_BLOCKS, QR_ASCII } QrStyle;

enum { _QR_E_SUCCESS, QR_E_NARROW, QR_E_LONG };

/* 0; QR_E_NARROW: it does not fit into so many columns, and nothing was printed; QR_E_LONG: no code holds the text. */
int qr_print(FILE *out, const char *text, QrStyle style, unsigned n_columns);
/* The same on stdout if that is a terminal, else nothing; says when it is too narrow. */
void qr_show(const char *text, QrStyle style);
