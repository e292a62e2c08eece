/*
 * The registry of communicators: gives each a small number and keeps its description for the writer thread.
 * The event path reads it without locks.
 */
#include "plugin/ring/ring.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct communicator *known[COMMUNICATORS_MAX];
static _Atomic bool ended[COMMUNICATORS_MAX];
static _Atomic uint8_t dialects[COMMUNICATORS_MAX];
static _Atomic uint32_t ends;
static _Atomic uint32_t numbers_given;
static _Atomic uint64_t refused;

void communicator_refuse(void)
{
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
}

uint32_t communicator_add(const struct communicator *communicator)
{
    uint32_t number = atomic_load_explicit(&numbers_given, memory_order_relaxed) + 1;
    struct communicator *copy = number < COMMUNICATORS_MAX ? malloc(sizeof(*copy)) : NULL;
    if (!copy) {
        communicator_refuse();
        return 0;
    }
    *copy = *communicator;
    known[number] = copy;
    atomic_store_explicit(&dialects[number], (uint8_t)communicator->dialect, memory_order_relaxed);
    atomic_store_explicit(&numbers_given, number, memory_order_release);
    return number;
}

void communicator_end(uint32_t number)
{
    atomic_store_explicit(&ended[number], true, memory_order_relaxed);
    atomic_fetch_add_explicit(&ends, 1, memory_order_release);
}

bool communicator_ended(uint32_t number)
{
    return atomic_load_explicit(&ended[number], memory_order_acquire);
}

uint32_t communicator_ends(void)
{
    return atomic_load_explicit(&ends, memory_order_acquire);
}

uint32_t communicator_count(void)
{
    return atomic_load_explicit(&numbers_given, memory_order_acquire);
}

enum api_dialect communicator_dialect(uint32_t number)
{
    if (number >= COMMUNICATORS_MAX)
        return DIALECT_OTHER;
    return (enum api_dialect)atomic_load_explicit(&dialects[number], memory_order_relaxed);
}

uint64_t communicator_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

const struct communicator *communicator_at(uint32_t number)
{
    return known[number];
}

void communicator_forget_all(void)
{
    for (uint32_t i = 1; i <= communicator_count(); i++) {
        free(known[i]);
        known[i] = NULL;
        atomic_store_explicit(&ended[i], false, memory_order_relaxed);
        atomic_store_explicit(&dialects[i], DIALECT_OTHER, memory_order_relaxed);
    }
    atomic_store_explicit(&ends, 0, memory_order_relaxed);
    atomic_store_explicit(&numbers_given, 0, memory_order_relaxed);
    atomic_store_explicit(&refused, 0, memory_order_relaxed);
}
