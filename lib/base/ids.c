#include "base/ids.h"

#include "base/lower_bound.h"

#include <string.h>

static int64_t id_of(const void *item)
{
    int64_t id;
    memcpy(&id, item, sizeof id);
    return id;
}

static int64_t id_at(const void *items, size_t item_bytes, size_t at)
{
    return id_of((const char *)items + at * item_bytes);
}

static int is_less(const void *item, const void *id)
{
    return id_of(item) < *(const int64_t *)id;
}

int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id)
{
    if (near < count) {
        uint64_t guess = near + (uint64_t)id - (uint64_t)id_at(items, item_bytes, near);
        if (guess < count && id_at(items, item_bytes, (size_t)guess) == id)
            return (int64_t)guess;
    }
    size_t at = lower_bound(items, count, item_bytes, is_less, &id);
    return at < count && id_at(items, item_bytes, at) == id ? (int64_t)at : -1;
}
