#pragma once
/* SPDX-License-Identifier: MIT */
/* cmocka with the four headers that it wants before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
