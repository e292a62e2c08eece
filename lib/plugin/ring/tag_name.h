/*
 * What the application calls the numbers that it tags operations with (NCCL 2.31): ncclprof_tag_name. Names
 * are the program's, not a moment's: they may come before recording begins, and a child of fork has its
 * parent's.
 */
#ifndef PLUGIN_RING_TAG_NAME_H
#define PLUGIN_RING_TAG_NAME_H

#include <stdint.h>

#define TAG_NAME_BYTES 255u
/* Renamings included. */
#define TAG_NAMES_MAX 1024u

struct tag_name {
    uint64_t number;
    char text[TAG_NAME_BYTES + 1];
};

/* For the writer thread, without a lock: names 0 to count - 1 never change, the last one of a number holds.
 */
unsigned tag_name_count(void);
const struct tag_name *tag_name_at(unsigned index);
/* Null for a number without a name. */
const char *tag_name_of(uint64_t number);

#endif
