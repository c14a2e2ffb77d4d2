/* SPDX-License-Identifier: MIT */
#include "base/metrics.h"

#include "base/utf8.h"

static void metrics_put(Metrics *metrics, Str text) {
        if (!metrics->failed && buf_append_str(metrics->out, text))
                metrics->failed = true;
}

void metrics_family(Metrics *metrics, const char *name, const char *type, const char *help) {
        metrics->family = name;
        if (!metrics->failed &&
            buf_printf(metrics->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type))
                metrics->failed = true;
}

static void metrics_value(Metrics *metrics, Str text) {
        while (text.n) {
                int32_t code;
                size_t n = utf8_next(text, &code);

                if (code == '\\')
                        metrics_put(metrics, STR("\\\\"));
                else if (code == '"')
                        metrics_put(metrics, STR("\\\""));
                else if (code == '\n')
                        metrics_put(metrics, STR("\\n"));
                else
                        metrics_put(metrics,
                                    utf8_is_hidden(code) ? STR("\xef\xbf\xbd") : (Str){text.data, n});
                text = (Str){text.data + n, text.n - n};
        }
}

void metrics_sample(Metrics *metrics, const MetricLabel *labels, double value) {
        metrics_put(metrics, str_from(metrics->family));
        for (const MetricLabel *label = labels; label && label->name; label++) {
                metrics_put(metrics, label == labels ? STR("{") : STR(","));
                metrics_put(metrics, str_from(label->name));
                metrics_put(metrics, STR("=\""));
                metrics_value(metrics, label->value);
                metrics_put(metrics, STR("\""));
        }
        if (labels && labels->name)
                metrics_put(metrics, STR("}"));
        if (!metrics->failed && buf_printf(metrics->out, " %.17g\n", value))
                metrics->failed = true;
}
