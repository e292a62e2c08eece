#ifndef NCCLPROF_BASE_JSON_TEXT_H
#define NCCLPROF_BASE_JSON_TEXT_H

#include "base/buffer.h"

#include <stdint.h>

/* Pieces of JSON. All return -1 when memory is out. */

/* A value: the text, escaped, between quotes; null for NULL. */
int text_json_quote(struct buffer *json, const char *text);

/* "name": ahead of a value, with a comma where one is needed. */
int text_json_key(struct buffer *json, const char *name);

int text_json_string(struct buffer *json, const char *name, const char *value);
int text_json_integer(struct buffer *json, const char *name, int64_t value);

#endif
