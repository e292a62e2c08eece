#include "base/ids.h"

#include <string.h>

static int64_t id_at(const void *items, size_t item_bytes, size_t at)
{
    int64_t id;
    memcpy(&id, (const char *)items + at * item_bytes, sizeof id);
    return id;
}

int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id)
{
    size_t low = 0, high = count;
    if (near < count) {
        uint64_t guess = near + (uint64_t)id - (uint64_t)id_at(items, item_bytes, near);
        if (guess < count && id_at(items, item_bytes, (size_t)guess) == id)
            return (int64_t)guess;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t held = id_at(items, item_bytes, middle);
        if (held == id)
            return (int64_t)middle;
        if (held < id)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}
