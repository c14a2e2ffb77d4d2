#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The settings file of another program: read as a whole, and replaced unless somebody else has changed it meanwhile. One that is a
 * link, has other names, belongs to somebody else or is no file is left alone, with words on stderr. Owned by the command.
 */
#include <sys/types.h>

#include "base/file.h"

typedef struct SetupFile {
        char *path;
        bool is_there;
        mode_t mode;
        FileIdentity identity;
        Buf text;
} SetupFile;

void setup_file_deinit(SetupFile *file);
/* These return an exit status. */
int setup_refuse(const SetupFile *file, const char *why);
int setup_read(SetupFile *file);
int setup_write(const SetupFile *file, Str text);
/* Its text; NULL data: it is not there. */
Str setup_text(const SetupFile *file);
