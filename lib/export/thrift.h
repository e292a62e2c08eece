#ifndef NCCLPROF_EXPORT_THRIFT_H
#define NCCLPROF_EXPORT_THRIFT_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Writes Apache Thrift's compact protocol, as far as Parquet needs it: structs of integers, byte strings,
 * lists and structs. Fields come in the order of their numbers. What fails for want of memory is told once,
 * by `failed`, and all that follows does nothing.
 */
enum { THRIFT_DEPTH = 8 };

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct thrift {
    struct buffer bytes;
    int failed;
    int depth;                /* open structs */
    int number[THRIFT_DEPTH]; /* of the last field of each */
};

void thrift_init(struct thrift *thrift);
void thrift_release(struct thrift *thrift);

/* Empties it; the memory is kept for the next use. */
void thrift_clear(struct thrift *thrift);

/* A struct that is no field: a message by itself, or an element of a list. Ended by thrift_end. */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

/* Fields of the struct that is open. */
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);
void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t length);
void thrift_text(struct thrift *thrift, int field, const char *text);
void thrift_struct(struct thrift *thrift, int field); /* ended by thrift_end */

/* `count` elements are to follow, each by thrift_begin, or one of the next. */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);
void thrift_element_i32(struct thrift *thrift, int32_t value);
void thrift_element_text(struct thrift *thrift, const char *text);
void thrift_elements(struct thrift *thrift, const struct thrift *written); /* as another one has them */

#endif
