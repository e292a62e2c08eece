#ifndef NCCLPROF_JOIN_TAGS_H
#define NCCLPROF_JOIN_TAGS_H

#include "join/sweep.h"
#include "join/work.h"

enum { TAG_DEPTH = 64 };

/* Marks that are still to come. */
struct tag_marks {
    const struct work_mark *next;
    size_t left;
};

/* The tags that are set on one member, as time goes on. Its process's marks are in memory (work_load_marks).
 */
struct tag_state {
    struct tag_marks own;
    struct tag_marks common; /* of the whole process */
    int32_t top;             /* -1: none */
    int32_t stack[TAG_DEPTH];
};

struct tag_state tag_state_at_start(const struct work *work, int32_t member);

/*
 * The tag that an operation's record carries, by its name where it is a number that its process, whose marks
 * are in memory, gave one; -1 none.
 */
int32_t tag_carried(const struct work *work, const struct swept *swept);

/* The tag that is set at that time, not before that of the last call; -1 none. */
int32_t tag_at(struct tag_state *state, int64_t at_ns);

#endif
