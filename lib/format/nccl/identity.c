#include "format/nccl/identity.h"

/* Two lanes that take in a number of so many bytes at a time (NCCL, src/include/bitops.h). */
static void take_in(uint64_t lanes[2], uint64_t number, uint64_t bytes)
{
    lanes[0] ^= bytes;
    lanes[0] += lanes[1];
    lanes[1] ^= lanes[0];
    lanes[0] ^= lanes[0] >> 31;
    lanes[0] *= UINT64_C(0x9de62bbc8cef3ce3);
    lanes[1] ^= lanes[1] >> 32;
    lanes[1] *= UINT64_C(0x485cd6311b599e79);
    lanes[0] += number;
}

static uint64_t digest_of(const uint64_t lanes[2])
{
    uint64_t hash = lanes[0];
    hash ^= hash >> 31;
    hash *= UINT64_C(0xbac3bd562846de6b);
    hash += lanes[1];
    hash ^= hash >> 32;
    hash *= UINT64_C(0x995a187a14e7b445);
    return hash;
}

uint64_t identity_of_child(uint64_t parent_hash, int32_t child, int32_t color)
{
    uint64_t lanes[2] = {1, 1};
    take_in(lanes, parent_hash, sizeof parent_hash);
    take_in(lanes, (uint32_t)child, sizeof child);
    take_in(lanes, (uint32_t)color, sizeof color);
    return digest_of(lanes);
}
