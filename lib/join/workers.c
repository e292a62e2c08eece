#include "join/workers.h"

#include "base/array.h"

#include <signal.h>
#include <stdlib.h>

static int init_hand(struct hands *hands, const struct work *work, struct error *error)
{
    struct hand *hand = &hands->items[hands->count++];
    hand->work = *work;
    hand->work.marks = NULL;
    hand->work.mark_count = hand->work.mark_capacity = 0;
    hand->work.marked_process = 0;
    map_init(&hand->work.tag_names);
    intern_init(&hand->work.texts);
    return blocks_init(&hand->blocks, hands->store, &hands->inside, &hand->work.texts, error);
}

int hands_init(struct hands *hands, const struct work *work, struct store *store, size_t count,
               struct error *error)
{
    *hands = (struct hands){.store = store, .items = array_new(count, sizeof *hands->items)};
    pthread_mutex_init(&hands->inside, NULL);
    if (!hands->items)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (init_hand(hands, work, error))
            return -1;
    return 0;
}

void hands_release(struct hands *hands)
{
    for (size_t i = 0; i < hands->count; i++) {
        blocks_release(&hands->items[i].blocks);
        intern_release(&hands->items[i].work.texts);
        free(hands->items[i].work.marks);
        map_release(&hands->items[i].work.tag_names);
    }
    pthread_mutex_destroy(&hands->inside);
    free(hands->items);
}

/* A pile of pieces, and what became of them. */
struct pile {
    struct hands *hands;
    hands_piece piece;
    void *context;
    size_t count;
    pthread_mutex_t mutex; /* for what follows */
    size_t next;
    size_t hands_taken;
    int failed;
    struct error error; /* of the first that failed */
};

static void tell_failure(struct pile *pile, const struct error *error)
{
    pthread_mutex_lock(&pile->mutex);
    if (!pile->failed)
        pile->error = *error;
    pile->failed = 1;
    pthread_mutex_unlock(&pile->mutex);
}

/* The next piece; pile->count when there is none to do. */
static size_t take(struct pile *pile)
{
    pthread_mutex_lock(&pile->mutex);
    size_t number = pile->failed || pile->next == pile->count ? pile->count : pile->next++;
    pthread_mutex_unlock(&pile->mutex);
    return number;
}

static struct hand *take_hand(struct pile *pile)
{
    pthread_mutex_lock(&pile->mutex);
    struct hand *hand = &pile->hands->items[pile->hands_taken++];
    pthread_mutex_unlock(&pile->mutex);
    return hand;
}

static void *work_off(void *context)
{
    struct pile *pile = context;
    struct hand *hand = take_hand(pile);
    size_t number;
    while ((number = take(pile)) < pile->count) {
        struct error error = ERROR_INIT;
        if (pile->piece(pile->context, hand, number, &error))
            tell_failure(pile, &error);
    }
    return NULL;
}

/* Signals are the first thread's affair. Where threads cannot be had, those there are do the work. */
static size_t start_threads(struct pile *pile, pthread_t *threads, size_t wanted)
{
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&threads[started], NULL, work_off, pile) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

int hands_do(struct hands *hands, hands_piece piece, void *context, size_t count, struct error *error)
{
    struct pile pile = {
        .hands = hands, .piece = piece, .context = context, .count = count, .error = ERROR_INIT};
    size_t helpers = (count < hands->count ? count : hands->count) - (count > 0);
    pthread_t *threads = array_new(helpers, sizeof *threads);
    if (!threads)
        return error_no_memory(error);
    pthread_mutex_init(&pile.mutex, NULL);
    size_t started = start_threads(&pile, threads, helpers);
    work_off(&pile);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&pile.mutex);
    free(threads);
    if (pile.failed && error)
        *error = pile.error;
    return pile.failed ? -1 : 0;
}
