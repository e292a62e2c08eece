#include "model/succession.h"

#include "base/array.h"

#include <stdlib.h>

/* So many that live side by side are told apart, of the same members, whatever a trace claims. */
enum { MOST_ABREAST = 64 };

/* A communicator by its members and when it was first used. */
struct birth {
    uint64_t members;
    int64_t first_used;
    int32_t number;
};

static int by_members_then_birth(const void *a, const void *b)
{
    const struct birth *left = a, *right = b;
    if (left->members != right->members)
        return left->members < right->members ? -1 : 1;
    if (left->first_used != right->first_used)
        return left->first_used < right->first_used ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* The successions of some members, by when each one's first was born: their latest communicators. */
struct abreast {
    int32_t latest[MOST_ABREAST];
    size_t count;
};

/* The earliest succession whose latest communicator was done with before this one; count: there is none. */
static size_t find_ended(const struct abreast *abreast, const struct communicator_life *lives,
                         int64_t first_used)
{
    size_t at = 0;
    while (at < abreast->count && lives[abreast->latest[at]].last_used >= first_used)
        at++;
    return at;
}

static void succeed(struct abreast *abreast, const struct communicator_life *lives, int32_t number,
                    int32_t *first_of)
{
    size_t at = find_ended(abreast, lives, lives[number].first_used);
    first_of[number] = at < abreast->count ? first_of[abreast->latest[at]] : number;
    if (at == MOST_ABREAST)
        return;
    abreast->latest[at] = number;
    abreast->count += at == abreast->count;
}

int succession_find(const struct communicator_life *lives, size_t count, int32_t *first_of)
{
    struct birth *births = array_new(count, sizeof *births);
    struct abreast abreast = {.count = 0};
    if (!births)
        return -1;
    for (size_t i = 0; i < count; i++)
        births[i] = (struct birth){lives[i].members, lives[i].first_used, (int32_t)i};
    array_sort(births, count, sizeof *births, by_members_then_birth);
    for (size_t i = 0; i < count; i++) {
        if (i && births[i].members != births[i - 1].members)
            abreast.count = 0;
        succeed(&abreast, lives, births[i].number, first_of);
    }
    free(births);
    return 0;
}
