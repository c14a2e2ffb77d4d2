#pragma once
/* SPDX-License-Identifier: MIT */
/* The version of this tree; meson passes it in. */
#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0.0.0"
#endif
