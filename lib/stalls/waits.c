#include "stalls/waits.h"

#include "base/array.h"

static const int64_t WAIT_UNIT_NS = 10;

int stalls_add_wait(struct stalls_waits *waits, int64_t wait_ns)
{
    if (array_reserve((void **)&waits->items, &waits->capacity, waits->count + 1, sizeof *waits->items))
        return -1;
    int64_t units = wait_ns / WAIT_UNIT_NS;
    waits->items[waits->count++] = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
    return 0;
}

/* By digits of 8 bits from the top, so that no order of the items makes it slow. */
static uint32_t item_of_rank(const uint32_t *items, size_t count, size_t rank)
{
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t seen[256] = {0};
        for (size_t i = 0; i < count; i++)
            seen[items[i] >> shift & 255] += (items[i] & mask) == prefix;
        uint32_t digit = 0;
        while (rank >= seen[digit])
            rank -= seen[digit++];
        prefix |= digit << shift;
        mask |= (uint32_t)255 << shift;
    }
    return prefix;
}

double stalls_median_us(const struct stalls_waits *waits)
{
    if (!waits->count)
        return -1;
    return (double)item_of_rank(waits->items, waits->count, (waits->count - 1) / 2) * (double)WAIT_UNIT_NS /
           1e3;
}
