#ifndef NCCLPROF_BASE_HASH_H
#define NCCLPROF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t HASH_PRIME_A = 0x9E3779B97F4A7C15ull, HASH_PRIME_B = 0xC2B2AE3D27D4EB4Full;

/* One round of a keyed mixer (multiply, fold the high half): not cryptographic, but fast and well spread. */
static inline uint64_t hash_mix(uint64_t state, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)(state ^ value ^ HASH_PRIME_B) * HASH_PRIME_A;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (value << 1);
}

/* A seed that differs from run to run, the same within one. */
uint64_t hash_seed(void);

/*
 * The 128-bit digest of a stream of bytes, whatever pieces it comes in; the same in every run and on every
 * machine of either endianness. It tells files apart; it does not withstand somebody who wants a collision.
 */
struct digest {
    uint64_t lane[2];
    uint64_t length_bytes;
    unsigned char tail[32]; /* bytes that do not fill a block yet */
};

void digest_init(struct digest *digest);
void digest_update(struct digest *digest, const void *bytes, size_t length);

/* 32 hexadecimal digits and a NUL. */
void digest_hex(const struct digest *digest, char text[33]);

#endif
