#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Metrics: numbers in the text form of Prometheus (0.0.4): families with their help and type, each with its samples. Values of labels are
 * escaped, and what is no text becomes U+FFFD. The writer owns nothing; out of memory is remembered in `failed`.
 */
#include "base/buf.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { METRICS_LABELS_MAX = 4 };

typedef struct Metrics {
        Buf *out;
        const char *family;
        bool failed;
} Metrics;

typedef struct MetricLabel {
        const char *name;
        Str value;
} MetricLabel;

/* A family: its samples follow. type: "counter" or "gauge"; help: one line. */
void metrics_family(Metrics *metrics, const char *name, const char *type, const char *help);
/* labels: ends with one without a name; NULL: none. */
void metrics_sample(Metrics *metrics, const MetricLabel *labels, double value);
#define METRIC_LABELS(...) ((const MetricLabel[]){__VA_ARGS__, {NULL, {NULL, 0}}})
