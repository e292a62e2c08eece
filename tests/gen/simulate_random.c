#include "simulate.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t random_start(uint64_t seed, enum draw draw)
{
    return mix(mix(seed) ^ (uint64_t)draw);
}

uint64_t random_on(uint64_t bits, uint64_t next)
{
    return mix(bits ^ next);
}

double unit_of(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

double normal_of(uint64_t bits)
{
    double v = (double)(mix(bits) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(unit_of(bits))) * cos(6.283185307179586 * v);
}

double exponential_of(uint64_t bits)
{
    return -log(unit_of(bits));
}

uint64_t random_bits(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(random_start(seed, draw) ^ a) ^ b) ^ c);
}

double random_unit(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return unit_of(random_bits(seed, draw, a, b, c));
}

double random_normal(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return normal_of(random_bits(seed, draw, a, b, c));
}

double random_exponential(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return exponential_of(random_bits(seed, draw, a, b, c));
}
