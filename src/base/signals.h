#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Signal dispositions for a program that is about to be replaced by another one.
 */

/* Every signal back to its default, also the two that the C library keeps for itself and will not touch when
 * asked: whoever started us may have left them ignored, and what we start would inherit that.
 * Async-signal-safe. */
void signals_default(void);
