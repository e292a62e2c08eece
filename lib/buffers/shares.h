#ifndef NCCLPROF_BUFFERS_SHARES_H
#define NCCLPROF_BUFFERS_SHARES_H

#include "base/intern.h"
#include "buffers/known_memory.h"

/* How much of what calls moved lay on registered memory, by groups. */

enum share_key {
    SHARE_COMMUNICATOR,
    SHARE_TAG,
    SHARE_FUNCTION,
    SHARE_SIZE,
    SHARE_RANK,
    SHARE_STEP,
    SHARE_RUN,
    SHARE_KEYS
};

/* Whether a key's number is that of a text in `texts`. */
int share_key_is_text(enum share_key key);

struct share_group {
    int64_t key[SHARE_KEYS]; /* in the order of `by`: the number itself, of a rank that in the roster, or that
                                of its text; -1: not known */
    int64_t calls;           /* records of single ranks */
    int64_t bytes;           /* count x type size, as the API got them */
    int64_t judged_bytes;    /* of calls of which it is known whether their memory was registered */
    int64_t registered_calls;
    int64_t registered_bytes; /* of calls whose buffers all were */
    int64_t usable_bytes;     /* of calls of which a log would tell that the registration was used */
    int64_t used_bytes;       /* ... and does */
    int64_t failed_calls;     /* NCCL tried to use it, and could not */
    int64_t state_calls[MEMORY_STATES];
    int64_t state_bytes[MEMORY_STATES];
    double
        lost_ns; /* what operations on other memory took beyond registered ones of the same size (cost.h) */
    int64_t compared; /* operations that stands on; 0: there is nothing to compare */
};

/* What is left out. Texts are borrowed; NULL: any. */
struct share_filter {
    int64_t first_step;
    int64_t last_step;
    const char *tag;
    const char *communicator;
    int (*has_rank)(const void *context, int64_t global_rank); /* NULL: all */
    const void *context;
};

struct shares {
    enum share_key by[SHARE_KEYS];
    size_t by_count;
    struct share_filter filter;
    struct share_group *groups; /* owned */
    size_t count;
    size_t capacity;
    struct intern texts;
    struct intern group_names;
    int64_t source_calls[3]; /* by enum memory_source, of all groups */
    int64_t timeless_calls;  /* judged by a snapshot without a time: when its segments came and went says
                                nothing */
};

void shares_init(struct shares *shares);
void shares_release(struct shares *shares);

/* Sums up the calls of a run, 0: of all. */
int shares_read(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
                struct error *error);

/* The most bytes that were not registered come first; equals in the order of their keys, texts by the
 * alphabet. Once, after all is read. -1 when memory is out. */
int shares_sort(struct shares *shares);

/*
 * For who goes through the calls himself: calls `take` for each that the filter leaves, with the number of
 * its group (which is added where there was none) and its operation's (-1: it was joined with none).
 */
struct share_call {
    size_t group;
    int64_t instance_id;
    int64_t bytes;
    int has_time;
    struct registration_check judgement;
};
int shares_walk(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
                int (*take)(void *context, const struct share_call *call), void *context,
                struct error *error);

#endif
