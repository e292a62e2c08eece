#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t hash_seed(void)
{
    static _Thread_local uint64_t seed;
    if (!seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = (uint64_t)time(NULL);
    return seed |= 1;
}

void digest_init(struct digest *digest)
{
    *digest = (struct digest){.lane = {HASH_PRIME_A, HASH_PRIME_B}};
}

static uint64_t read_little_endian(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Multiplies two words that the state has been mixed into and folds the product: a byte costs half an
 * instruction. */
static uint64_t fold(uint64_t state, const unsigned char *bytes)
{
    uint64_t left = read_little_endian(bytes) ^ state;
    uint64_t right = read_little_endian(bytes + 8) ^ HASH_PRIME_B;
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ left;
}

static void absorb(struct digest *digest, const unsigned char *bytes, size_t blocks)
{
    uint64_t even = digest->lane[0];
    uint64_t odd = digest->lane[1];
    for (; blocks > 0; blocks--, bytes += sizeof digest->tail) {
        even = fold(even, bytes);
        odd = fold(odd, bytes + sizeof digest->tail / 2);
    }
    digest->lane[0] = even;
    digest->lane[1] = odd;
}

void digest_update(struct digest *digest, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    size_t held = (size_t)(digest->length_bytes % sizeof digest->tail);
    digest->length_bytes += length;
    if (held) {
        size_t take = sizeof digest->tail - held < length ? sizeof digest->tail - held : length;
        memcpy(digest->tail + held, bytes, take);
        if (held + take < sizeof digest->tail)
            return;
        absorb(digest, digest->tail, 1);
        bytes += take;
        length -= take;
    }
    absorb(digest, bytes, length / sizeof digest->tail);
    bytes += length - length % sizeof digest->tail;
    if (length % sizeof digest->tail)
        memcpy(digest->tail, bytes, length % sizeof digest->tail);
}

void digest_hex(const struct digest *digest, char text[33])
{
    struct digest last = *digest;
    size_t held = (size_t)(last.length_bytes % sizeof last.tail);
    memset(last.tail + held, 0, sizeof last.tail - held);
    absorb(&last, last.tail, 1);
    uint64_t high = hash_mix(last.lane[0] ^ last.length_bytes, last.lane[1]);
    uint64_t low = hash_mix(last.lane[1] + last.length_bytes, high);
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}
