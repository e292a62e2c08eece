#include "simulate.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t random_bits(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(mix(mix(seed) ^ (uint64_t)draw) ^ a) ^ b) ^ c);
}

double random_unit(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return ((double)(random_bits(seed, draw, a, b, c) >> 11) + 0.5) * 0x1p-53;
}

double random_normal(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = random_bits(seed, draw, a, b, c);
    double u = ((double)(bits >> 11) + 0.5) * 0x1p-53;
    double v = (double)(mix(bits) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

double random_exponential(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c)
{
    return -log(random_unit(seed, draw, a, b, c));
}
