/*
 * The names that the application gives to the numbers of its tags (ncclprof_tag_name). Any thread may add a
 * name; the writer thread reads them without a lock.
 */
#include "plugin/ncclprof_tag.h"
#include "plugin/ring/api.h"
#include "plugin/ring/ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define PLACES (2 * TAG_NAMES_MAX)

/* A name is written before it is counted. Only the holder of the lock adds one. */
static struct tag_name names[TAG_NAMES_MAX];
static _Atomic unsigned name_count;
/* Open addressing by number. An entry is the index of the number's newest name + 1, or 0. */
static _Atomic uint16_t places[PLACES];
static struct lock lock;
static _Thread_local bool locked_for_fork;
static _Thread_local unsigned forks; /* nested forks: a fork handler may fork */

static unsigned home(uint64_t number)
{
    return (unsigned)(number * 0x9e3779b97f4a7c15u >> 32) % PLACES;
}

/* Returns the place of the number, or the free place that it would take. */
static unsigned place_of(uint64_t number)
{
    unsigned place = home(number);
    for (unsigned index;; place = (place + 1) % PLACES) {
        index = atomic_load_explicit(&places[place], memory_order_acquire);
        if (index == 0 || names[index - 1].number == number)
            return place;
    }
}

unsigned tag_name_count(void)
{
    return atomic_load_explicit(&name_count, memory_order_acquire);
}

const struct tag_name *tag_name_at(unsigned index)
{
    return &names[index];
}

const char *tag_name_of(uint64_t number)
{
    unsigned index = atomic_load_explicit(&places[place_of(number)], memory_order_acquire);
    return index ? names[index - 1].text : NULL;
}

/* Call with the lock held. Returns false when there is no space. */
static bool add(uint64_t number, const char *text, size_t length)
{
    unsigned place = place_of(number);
    unsigned index = atomic_load_explicit(&places[place], memory_order_relaxed);
    if (index && strncmp(names[index - 1].text, text, length) == 0 && names[index - 1].text[length] == '\0')
        return true;
    unsigned used = atomic_load_explicit(&name_count, memory_order_relaxed);
    if (used == TAG_NAMES_MAX)
        return false;
    struct tag_name *name = &names[used];
    name->number = number;
    memcpy(name->text, text, length);
    name->text[length] = '\0';
    atomic_store_explicit(&places[place], (uint16_t)(used + 1), memory_order_release);
    atomic_store_explicit(&name_count, used + 1, memory_order_release);
    return true;
}

PLUGIN_EXPORT void ncclprof_tag_name(uint64_t number, const char *name)
{
    if (number == 0 || !name || !*name)
        return;
    bool added = false;
    enum lock_result locked = lock_take(&lock);
    if (locked == LOCK_TAKEN) {
        added = add(number, name, text_cut(name, strnlen(name, TAG_NAME_BYTES + 1), TAG_NAME_BYTES));
        lock_release(&lock);
    }
    /* LOCK_MINE: a signal handler interrupted another call. */
    if (!added)
        ring_count_dropped();
}

static void before_fork(void)
{
    if (forks++ == 0)
        locked_for_fork = lock_take(&lock) == LOCK_TAKEN;
}

static void parent_after_fork(void)
{
    if (--forks == 0 && locked_for_fork)
        lock_release(&lock);
}

static void child_after_fork(void)
{
    forks = 0;
    atomic_store_explicit(&lock.holder, 0, memory_order_relaxed);
}

/*
 * Runs when the library is loaded: registering the handlers allocates memory, and in a signal handler that
 * could deadlock.
 */
__attribute__((constructor)) static void tag_names_load(void)
{
    (void)pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}
