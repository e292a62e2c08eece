#ifndef NCCLPROF_TESTS_SUPPLY_H
#define NCCLPROF_TESTS_SUPPLY_H

#include <stdint.h>

/* The input of a fuzzer, consumed from its beginning; zeros after its end. */
struct supply {
    const uint8_t *at;
    const uint8_t *end;
};

static inline uint8_t next(struct supply *supply)
{
    return supply->at < supply->end ? *supply->at++ : 0;
}

/* Mostly small values, sometimes arbitrary 64 bits. */
static inline int64_t next_value(struct supply *supply)
{
    uint64_t value = next(supply);
    if (value >= 0xf0)
        for (int i = 0; i < 8; i++)
            value = value << 8 | next(supply);
    return (int64_t)value;
}

#endif
