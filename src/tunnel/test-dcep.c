/* SPDX-License-Identifier: MIT */
/*
 * DCEP and answers in SDP: what a browser sends, cut short, too long, of another kind.
 */
#include "tunnel/dcep.h"

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "tunnel/sdp-answer.h"

static void test_dcep(_unused_ void **state) {
        uint8_t bytes[DCEP_MAX + 1] = {0};
        DcepOpen open = {.label = STR("coop-control"), .protocol = STR("p")}, back;
        size_t n = dcep_write_open(bytes, &open);

        assert_int_equal(dcep_parse((Str){(char *)bytes, n}, &back), 0);
        assert_true(str_eq(back.label, open.label) && str_eq(back.protocol, open.protocol));
        assert_int_equal(back.channel_type, 0);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(dcep_parse((Str){(char *)bytes, i}, &back), DCEP_E_INVALID);
        assert_int_equal(dcep_parse((Str){(char *)bytes, n + 1}, &back), DCEP_E_INVALID);
        bytes[0] = 4;
        assert_int_equal(dcep_parse((Str){(char *)bytes, n}, &back), DCEP_E_INVALID);
        assert_int_equal(dcep_write_ack(bytes), 1);
        assert_int_equal(dcep_parse((Str){(char *)bytes, 1}, &back), DCEP_E_ACK);

        memset(bytes, 0, sizeof(bytes)); /* a label of 257 bytes */
        memcpy(bytes, (uint8_t[]){3, 0, 0, 0, 0, 0, 0, 0, 1, 1}, 10);
        assert_int_equal(dcep_parse((Str){(char *)bytes, DCEP_HEADER + 257}, &back), DCEP_E_INVALID);
        bytes[9] = 0;
        assert_int_equal(dcep_parse((Str){(char *)bytes, DCEP_HEADER + 256}, &back), 0);
}

#define PRINT                                                                                               \
        "00:01:02:03:04:05:06:07:08:09:0A:0b:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:FF"
#define HEAD    "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
#define SECTION "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n"

static int answer(const char *text, SdpAnswer *ret) {
        return sdp_answer_parse(str_from(text), ret);
}

static void test_answer(_unused_ void **state) {
        SdpAnswer a;

        assert_int_equal(answer(HEAD SECTION "a=fingerprint:sha-256 " PRINT "\r\na=setup:active\r\n", &a),
                         0);
        assert_int_equal(a.fingerprint[10], 10);
        assert_int_equal(a.fingerprint[31], 255);
        assert_int_equal(a.sctp_port, 5000);
        assert_int_equal(answer(HEAD "a=fingerprint:SHA-256 " PRINT "\n" SECTION
                                     "a=fingerprint:sha-1 00\na=setup:active\na=sctp-port:5001",
                                &a),
                         0);
        assert_int_equal(a.sctp_port, 5001);
}

static void test_wrong_answers(_unused_ void **state) {
        static const struct {
                const char *text;
                int condition;
        } wrong[] = {
                {"", SDP_E_INVALID},
                {"v=1\r\n", SDP_E_INVALID},
                {HEAD "a=fingerprint:sha-256 " PRINT "\r\na=setup:active\r\n",
                 SDP_E_INVALID}, /* no section */
                {HEAD SECTION SECTION, SDP_E_INVALID},
                {HEAD "m=audio 9 RTP/AVP 0\r\n", SDP_E_INVALID},
                {HEAD "nonsense\r\n", SDP_E_INVALID},
                {HEAD SECTION "a=setup:active\r\n", SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-1 00:11\r\na=setup:active\r\n", SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-256 00:11\r\n", SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-256 " PRINT ":00\r\n", SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-256 G" PRINT "\r\n", SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-256 " PRINT "\r\na=fingerprint:sha-256 FF" PRINT "\r\n",
                 SDP_E_FINGERPRINT},
                {HEAD SECTION "a=fingerprint:sha-256 " PRINT "\r\n", SDP_E_SETUP},
                {HEAD SECTION "a=fingerprint:sha-256 " PRINT "\r\na=setup:passive\r\n", SDP_E_SETUP},
                {HEAD SECTION "a=fingerprint:sha-256 " PRINT "\r\na=setup:actpass\r\n", SDP_E_SETUP},
                {HEAD SECTION "a=sctp-port:0\r\n", SDP_E_INVALID},
                {HEAD SECTION "a=sctp-port:65536\r\n", SDP_E_INVALID},
                {HEAD SECTION "a=sctp-port:\r\n", SDP_E_INVALID},
        };
        SdpAnswer a;

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(answer(wrong[i].text, &a), wrong[i].condition);
        assert_int_equal(sdp_answer_parse((Str){HEAD "a=\0x\r\n", sizeof(HEAD "a=\0x\r\n") - 1}, &a),
                         SDP_E_INVALID);
        {
                static char large[SDP_ANSWER_MAX + 1] = "v=0\n";

                memset(large + 4, '\n', sizeof(large) - 4);
                assert_int_equal(sdp_answer_parse((Str){large, sizeof(large)}, &a), SDP_E_INVALID);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dcep),
                cmocka_unit_test(test_answer),
                cmocka_unit_test(test_wrong_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
