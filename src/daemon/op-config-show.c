/* SPDX-License-Identifier: MIT */
/* config.show: every setting, its value and which layer said it. What looks like a secret is not shown. */
#include "core/daemon.h"
#include "core/secret.h"
#include "daemon/options-table.h"
#include "gen/native-ops.h"

static void config_write_list(const StrVec *list, JsonWriter *w) {
        jw_begin_array(w);
        for (size_t i = 0; i < list->n; i++)
                jw_str(w, str_from(list->items[i]));
        jw_end_array(w);
}

static void config_write_text(const Option *option, const char *text, JsonWriter *w) {
        if (text)
                jw_str(w, secret_is_name(NULL, str_from(option->flag)) ? STR(SECRET_MARK) : str_from(text));
        else
                jw_null(w);
}

static void config_write_value(const Config *config, const Option *option, JsonWriter *w) {
        const void *value = (const char *)config + option->offset;

        jw_key(w, "value");
        switch (option->type) {
        case OPTION_STRING: config_write_text(option, *(char *const *)value, w); break;
        case OPTION_LIST: config_write_list(value, w); break;
        case OPTION_INT: jw_int(w, *(const int64_t *)value); break;
        case OPTION_BOOL: jw_bool(w, *(const bool *)value); break;
        }
}

static void config_write_setting(const Config *config, const Option *option, JsonWriter *w) {
        static const char *const sources[] = {[CONFIG_DEFAULT] = "default",
                                              [CONFIG_FILE] = "file",
                                              [CONFIG_ENVIRONMENT] = "environment",
                                              [CONFIG_FLAG] = "flag"};

        jw_begin_object(w);
        jw_field_cstr(w, "name", option->key ? option->key : option->flag);
        jw_field_cstr(w, "flag", option->flag);
        jw_field_cstr(w, "env", option->env);
        if (option->key)
                jw_field_cstr(w, "key", option->key);
        else
                jw_field_null(w, "key");
        config_write_value(config, option, w);
        jw_field_cstr(w, "source", sources[config->sources[option - option_table]]);
        jw_field_cstr(w, "help", option->help);
        jw_end_object(w);
}

int op_native_config_show(Call *call, _unused_ const NativeConfigShowArgs *args) {
        const Config *config = &call->daemon->config;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (config->config_file)
                jw_field_cstr(w, "file", config->config_file);
        else
                jw_field_null(w, "file");
        jw_key(w, "settings");
        jw_begin_array(w);
        for (size_t i = 0; i < n_option_table; i++)
                config_write_setting(config, &option_table[i], w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}
