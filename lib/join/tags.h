#ifndef NCCLPROF_JOIN_TAGS_H
#define NCCLPROF_JOIN_TAGS_H

#include "join/work.h"

enum { TAG_DEPTH = 64 };

/* The tags that are set on one member, as time goes on. Its process's marks are in memory (work_load_marks).
 */
struct tag_state {
    size_t next; /* mark to look at */
    int32_t top; /* -1: none */
    int32_t stack[TAG_DEPTH];
};

struct tag_state tag_state_at_start(void);

/* The tag that is set at that time, not before that of the last call; -1 none. */
int32_t tag_at(const struct work *work, int32_t member, struct tag_state *state, int64_t at_ns);

#endif
