/* Runs independent items of work on several threads. Analyses use it for ranks, steps and instances. */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

/* All work of one parallel_for. */
struct pile {
    parallel_piece piece;
    void *context;
    size_t count;
    size_t grain;
    atomic_size_t next; /* the first item that no thread has taken */
    atomic_size_t workers;
    atomic_int failed;
};

static void *run_worker(void *context)
{
    struct pile *pile = context;
    size_t worker = atomic_fetch_add(&pile->workers, 1);
    while (!atomic_load(&pile->failed)) {
        size_t first = atomic_fetch_add(&pile->next, pile->grain);
        if (first >= pile->count)
            break;
        size_t left = pile->count - first;
        if (pile->piece(pile->context, worker, first, first + (left < pile->grain ? left : pile->grain)))
            atomic_store(&pile->failed, 1);
    }
    return NULL;
}

/*
 * The new threads block all signals, so that the first thread handles them. Returns how many threads were
 * started.
 */
static size_t start_threads(struct pile *pile, pthread_t *threads, size_t wanted)
{
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&threads[started], NULL, run_worker, pile) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

int parallel_for(size_t count, size_t grain, size_t threads, parallel_piece piece, void *context)
{
    struct pile pile = {.piece = piece, .context = context, .count = count, .grain = grain};
    size_t pieces = count / grain + (count % grain != 0);
    if (pieces == 0)
        return 0;
    if (threads <= 1 || pieces == 1)
        return piece(context, 0, 0, count);
    size_t helpers = (pieces < threads ? pieces : threads) - 1;
    pthread_t *list = array_new(helpers, sizeof *list);
    if (!list)
        return -1;
    size_t started = start_threads(&pile, list, helpers);
    run_worker(&pile);
    for (size_t i = 0; i < started; i++)
        pthread_join(list[i], NULL);
    free(list);
    return atomic_load(&pile.failed) ? -1 : 0;
}

size_t parallel_threads(size_t threads, size_t count, size_t least)
{
    size_t worth = count / least;
    if (worth < threads)
        threads = worth;
    return threads > 1 ? threads : 1;
}
