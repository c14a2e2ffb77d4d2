#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Trash: where the folders of deleted groups go, trash/ in the CCCC home: beside groups/, so that the way is
 * one rename, and where no program that knows CCCC looks. An entry is named ID.STAMP-DIGITS. It is emptied
 * by `muster prune` and by nothing else. Owns nothing; everything here is for workers.
 */
#include "base/json/json-writer.h"
#include "base/strvec.h"

/* The folder of a deleted group goes to the trash at one moment. One that is missing is no error. */
int trash_take(const char *trash, const char *dir, const char *id, int64_t now_us);

/* Ids of the groups in it, those left out that are in groups (again); also for the start of the daemon. */
int trash_ids(const char *trash, const char *groups, StrVec *ret);

typedef struct TrashCount {
        size_t n_entries;
        int64_t n_bytes;
} TrashCount;
