/* SHA-256 as in FIPS 180-4, for the Content-Security-Policy of HTML reports. */
#include "base/base.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 64, ROUNDS = 64, WORDS = 8, LENGTH_BYTES = 8 };

/* Names and constants are those of the standard. */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, int by)
{
    return value >> by | value << (32 - by);
}

static void fill_schedule(const unsigned char *block, uint32_t w[ROUNDS])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void take_block(uint32_t hash[WORDS], const unsigned char *block)
{
    enum { A, B, C, D, E, F, G, H };
    uint32_t w[ROUNDS], v[WORDS];
    fill_schedule(block, w);
    memcpy(v, hash, sizeof v);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t sum1 = rotate(v[E], 6) ^ rotate(v[E], 11) ^ rotate(v[E], 25);
        uint32_t sum0 = rotate(v[A], 2) ^ rotate(v[A], 13) ^ rotate(v[A], 22);
        uint32_t first = v[H] + sum1 + ((v[E] & v[F]) ^ (~v[E] & v[G])) + K[i] + w[i];
        uint32_t second = sum0 + ((v[A] & v[B]) ^ (v[A] & v[C]) ^ (v[B] & v[C]));
        memmove(v + 1, v, (WORDS - 1) * sizeof *v);
        v[E] += first;
        v[A] = first + second;
    }
    for (int i = 0; i < WORDS; i++)
        hash[i] += v[i];
}

/*
 * Processes the end of the message: the bytes that do not fill a block, a one bit, zeros, and the length in
 * bits.
 */
static void take_end(uint32_t hash[WORDS], const unsigned char *rest, size_t count, uint64_t length)
{
    unsigned char end[2 * BLOCK_BYTES] = {0};
    size_t bytes = count < BLOCK_BYTES - LENGTH_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    memcpy(end, rest, count);
    end[count] = 0x80;
    for (int i = 0; i < LENGTH_BYTES; i++)
        end[bytes - 1 - (size_t)i] = (unsigned char)(length * 8 >> 8 * i);
    for (size_t at = 0; at < bytes; at += BLOCK_BYTES)
        take_block(hash, end + at);
}

void sha256(const void *bytes, size_t length, unsigned char digest[SHA256_BYTES])
{
    uint32_t hash[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = bytes;
    size_t left = length;
    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, at += BLOCK_BYTES)
        take_block(hash, at);
    take_end(hash, at, left, length);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(hash[i / 4] >> (24 - i % 4 * 8));
}
