#ifndef NCCLPROF_TIMELINE_PROTOBUF_H
#define NCCLPROF_TIMELINE_PROTOBUF_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Fields of a protobuf message, appended to a buffer (protobuf.dev/programming-guides/encoding). `field` is
 * the number that the message's .proto file gives it. All return -1 when memory is out.
 */

/* Varints: uint32, uint64, bool, enum; int32 and int64 as they are, cast, without zigzag. */
int protobuf_number(struct buffer *message, unsigned field, uint64_t value);

/* fixed64 */
int protobuf_fixed(struct buffer *message, unsigned field, uint64_t value);

/* bytes, or a message that is complete elsewhere */
int protobuf_bytes(struct buffer *message, unsigned field, const void *bytes, size_t length);

/* string: UTF-8, which the caller sees to */
int protobuf_text(struct buffer *message, unsigned field, const char *text);

/*
 * A message within the message: what is appended from protobuf_open to protobuf_close is in it. *mark is what
 * protobuf_close wants; messages may nest.
 */
int protobuf_open(struct buffer *message, unsigned field, size_t *mark);
int protobuf_close(struct buffer *message, size_t mark);

#endif
