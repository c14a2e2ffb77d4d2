#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WebSocket (RFC 6455) for a server: frames, messages, closing, and the key of the handshake. Pure functions; no
 * connection, no extension, no subprotocol is known here. Frames of clients are masked and ours are not; ours
 * are never sent in parts.
 *
 * FRAMING_WEBSOCKET (wire/framing.h) cuts the stream; a frame that it handed out goes to ws_frame_open(), data
 * frames then to ws_message_push(). What a condition is for the peer says ws_close_code().
 */
#include "base/buf.h"

typedef enum WsOpcode {
        WS_CONTINUATION = 0,
        WS_TEXT = 1,
        WS_BINARY = 2,
        WS_CLOSE = 8,
        WS_PING = 9,
        WS_PONG = 10,
} WsOpcode;

enum {
        WS_CONTROL_MAX = 125, /* payload of a close, ping or pong */
        WS_REASON_MAX = WS_CONTROL_MAX - 2,
        WS_HEADER_MAX = 10, /* of a frame of ours */
        WS_ACCEPT_MAX = 29, /* 28 characters and a NUL */
};

/* Codes of closing. The last two are ours, from the range for private use. */
enum {
        WS_CODE_NORMAL = 1000,
        WS_CODE_LEAVING = 1001,
        WS_CODE_PROTOCOL = 1002,
        WS_CODE_NONE = 1005, /* the peer gave none; never sent */
        WS_CODE_UTF8 = 1007,
        WS_CODE_POLICY = 1008,
        WS_CODE_TOO_LARGE = 1009,
        WS_CODE_INTERNAL = 1011,
        WS_CODE_REVOKED = 4401,
        WS_CODE_SLOW = 4408,
};

enum {
        _WS_E_SUCCESS,
        WS_E_PARTIAL,   /* more bytes, or more frames of this message, have to come */
        WS_E_PROTOCOL,  /* 1002 */
        WS_E_UTF8,      /* 1007 */
        WS_E_TOO_LARGE, /* 1009 */
        WS_E_KEY,       /* of the handshake: not 16 bytes in base64 */
};
/* With which code a connection is closed because of a condition; of a failure of the machine: 1011. */
unsigned ws_close_code(int r);

/* ---- frames ---------------------------------------------------------------------------------- */

typedef struct WsHeader {
        WsOpcode opcode;
        bool is_final;
        size_t n_header;
        uint64_t n_payload;
        unsigned char mask[4];
} WsHeader;

/* Of a frame of a client, at the front of input. Conditions: WS_E_PARTIAL; WS_E_PROTOCOL, as soon as it is seen. */
int ws_header_parse(Str input, WsHeader *ret);

/* to may be from. */
void ws_unmask(char *to, const char *from, size_t n, const unsigned char mask[4]);

typedef struct WsFrame {
        WsOpcode opcode;
        bool is_final;
        Str payload;
} WsFrame;

/* Of a whole frame, as FRAMING_WEBSOCKET hands it out. Its payload is unmasked where it stands: the bytes are in
 * buffers of the Conn, which nobody looks at again. */
void ws_frame_open(Str frame, WsFrame *ret);

static inline bool ws_is_control(WsOpcode opcode) {
        return opcode >= WS_CLOSE;
}

/* The header of a frame of ours with n bytes of payload; says how long it is. */
size_t ws_put_header(char out[WS_HEADER_MAX], WsOpcode opcode, uint64_t n);
/* Appends a whole frame. 0 or -ENOMEM. */
int ws_append_frame(Buf *out, WsOpcode opcode, Str payload);
/* A reason over WS_REASON_MAX bytes is cut between characters. */
int ws_append_close(Buf *out, unsigned code, Str reason);
/* Text that was written behind mark becomes the payload of a frame: its header is put before it. For writers that
 * do not know beforehand how long their text will be. */
int ws_wrap(Buf *out, size_t mark, WsOpcode opcode);

/* What a peer says with its close frame: WS_CODE_NONE if nothing. Conditions: WS_E_PROTOCOL, WS_E_UTF8. */
int ws_close_parse(Str payload, unsigned *ret_code, Str *ret_reason);

/* ---- messages -------------------------------------------------------------------------------- */

/* A message that comes in several frames. All zero at first; messages that come in one frame are not copied, and
 * what others took is given back with the next message. Owned by whoever embeds it. */
typedef struct WsMessage {
        WsOpcode opcode; /* of the message under way, or of the last one; WS_CONTINUATION: there was none */
        bool is_open;
        Buf parts;
        size_t n_valid; /* bytes of parts that are known to be UTF-8 */
} WsMessage;

void ws_message_deinit(WsMessage *message);
/* The next data frame (not a control frame, which may stand between them). On success *ret is the whole message,
 * of kind message->opcode, until the next call or until the frame is gone. Conditions: WS_E_PARTIAL; WS_E_PROTOCOL,
 * WS_E_UTF8 (at the first byte that cannot be), WS_E_TOO_LARGE (over n_max together). */
int ws_message_push(WsMessage *message, const WsFrame *frame, size_t n_max, Str *ret);

/* ---- handshake ------------------------------------------------------------------------------- */

/* Sec-WebSocket-Accept for a Sec-WebSocket-Key. Condition: WS_E_KEY. */
int ws_accept_key(Str key, char out[WS_ACCEPT_MAX]);
