#pragma once
/* SPDX-License-Identifier: MIT */
/* What the files of the validation share; nobody else includes this. */
#include "company/books/validate.h"
#include "company/place.h"
#include "core/document.h"
#include "gen/shapes.h"

void validate_add(Validation *v, const char *code, const char *path, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void validate_shape(Validation *v, const char *code, const char *path, const Shape *shape, const Json *json);
/* The tree of a file; NULL: what is wrong was said. */
Json *validate_load(Validation *v, const char *path, DocumentFormat format, Str *body);
void validate_yaml(Validation *v, const char *path, const Shape *shape);
void validate_headings(Validation *v, const char *path, Str body, const char *const headings[]);
/* fn for each name in the folder, in order. */
void validate_each(Validation *v, const char *folder, const char *suffix, void (*fn)(Validation *, Str, Str),
                   Str project);
void validate_project(Validation *v, Str none, Str project);
