#include "join/workers.h"

#include "base/array.h"
#include "base/parallel.h"

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

/* Pieces that hands do, and what became of them. */
struct pile {
    struct hands *hands;
    hands_piece piece;
    void *context;
    pthread_mutex_t mutex; /* for what follows */
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

static int work_off(void *context, size_t worker, size_t first, size_t end)
{
    struct pile *pile = context;
    for (size_t number = first; number < end; number++) {
        struct error error = ERROR_INIT;
        if (pile->piece(pile->context, &pile->hands->items[worker], number, &error)) {
            tell_failure(pile, &error);
            return -1;
        }
    }
    return 0;
}

int hands_do(struct hands *hands, hands_piece piece, void *context, size_t count, struct error *error)
{
    struct pile pile = {.hands = hands, .piece = piece, .context = context, .error = ERROR_INIT};
    pthread_mutex_init(&pile.mutex, NULL);
    int failed = parallel_for(count, 1, hands->count, work_off, &pile);
    pthread_mutex_destroy(&pile.mutex);
    if (pile.failed && error)
        *error = pile.error;
    return failed && !pile.failed ? error_no_memory(error) : failed;
}
