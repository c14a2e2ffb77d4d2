/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/native-ops.h"
#include "gen/openrpc.h"

int op_native_rpc_discover(Call *call, _unused_ const NativeRpcDiscoverArgs *args) {
        jw_raw(call_result(call), (Str){openrpc_json, openrpc_json_n});
        return 0;
}
