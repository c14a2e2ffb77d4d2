/* SPDX-License-Identifier: MIT */
#include "base/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static int clear(void **state) {
        static const char *const names[] = {"MUSTER_HOME", "MUSTER_SOCKET", "XDG_STATE_HOME",
                                            "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                unsetenv(names[i]);
        return setenv("HOME", "/h", 1) || chdir("/");
}

/* Takes got. */
static void expect(char *got, const char *want) {
        assert_non_null(got);
        assert_string_equal(got, want);
        free(got);
}

static void test_home(void **state) {
        (void)state;
        expect(place_home(), "/h/.local/state/muster");
        setenv("XDG_STATE_HOME", "relative", 1); /* to be ignored */
        expect(place_home(), "/h/.local/state/muster");
        setenv("XDG_STATE_HOME", "/s/", 1);
        expect(place_home(), "/s/muster");
        setenv("MUSTER_HOME", "", 1);
        expect(place_home(), "/s/muster");
        setenv("MUSTER_HOME", "~/m", 1);
        expect(place_home(), "/h/m");
        setenv("MUSTER_HOME", "m", 1);
        expect(place_home(), "/m");
}

static void test_socket(void **state) {
        (void)state;
        expect(place_socket(NULL), "/h/.local/state/muster/run/muster.sock");
        expect(place_socket("/other"), "/other/run/muster.sock");
        setenv("XDG_RUNTIME_DIR", "/r", 1);
        expect(place_socket("/other"), "/r/muster/muster.sock");
        setenv("MUSTER_SOCKET", "s.sock", 1);
        expect(place_socket("/other"), "/s.sock");
}

static void test_config(void **state) {
        (void)state;
        expect(place_config(), "/h/.config/muster/muster.toml");
        setenv("XDG_CONFIG_HOME", "/c", 1);
        expect(place_config(), "/c/muster/muster.toml");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_home, clear),
                cmocka_unit_test_setup(test_socket, clear),
                cmocka_unit_test_setup(test_config, clear),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
