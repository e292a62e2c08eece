#ifndef NCCLPROF_JOIN_WORKERS_H
#define NCCLPROF_JOIN_WORKERS_H

#include "join/blocks.h"
#include "join/work.h"

#include <pthread.h>

/*
 * Threads for work that falls into pieces, none of which needs another: the operations of a rank, the
 * instances of a communicator. They share what struct work points to and do not change it, and enter the
 * store one at a time (blocks.h). Texts and marks each has of its own.
 */
struct hand {
    struct work work; /* the one of all, but for texts and marks */
    struct blocks blocks;
};

struct hands {
    struct store *store;    /* borrowed */
    pthread_mutex_t inside; /* whoever is in the store holds it */
    struct hand *items;     /* owned */
    size_t count;
};

/* `count` is 1 at least; no threads but the caller's run until hands_do. Release it whatever comes back. */
int hands_init(struct hands *hands, const struct work *work, struct store *store, size_t count,
               struct error *error);
void hands_release(struct hands *hands);

/* Does piece `number` with a hand that nobody else uses meanwhile. */
typedef int (*hands_piece)(void *context, struct hand *hand, size_t number, struct error *error);

/* Does pieces 0 to `count` - 1, in any order and side by side. -1, with one of the errors, when one failed.
 */
int hands_do(struct hands *hands, hands_piece piece, void *context, size_t count, struct error *error);

#endif
