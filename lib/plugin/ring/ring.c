/*
 * The rings: one per recording thread, made on its first event and reused when the thread exits. Event
 * callbacks push records, and the writer thread reads them.
 */
#include "plugin/ring/ring.h"
#include "plugin/ring/record.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define RINGS_MAX 4096u
#define HANDLE_RING_SHIFT 40

#define MAPPED_AHEAD_FROM_SLOTS 256u
#define MAPPED_AHEAD_BYTES (UINT64_C(16) << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older headers do not define it */
#endif

static struct lock registry_lock;
static pthread_key_t exit_key;
static bool exit_key_made;
static struct ring *registry[RINGS_MAX];
static _Atomic unsigned registered;
static _Atomic uint64_t refused_threads_events;
static _Atomic uint64_t dropped_elsewhere;
static uint64_t slots_wanted = 1u << 16;
static unsigned rings_wanted = 256;
static uint64_t handles_given;
static _Thread_local struct ring *mine;
/* Increases when a ring becomes free. Until then a thread that got no ring need not ask again. */
static _Atomic uint64_t generation = 1;
static _Thread_local uint64_t refused_in;
/* Set while a ring is being acquired: a signal handler that interrupts this gets no ring. */
static _Thread_local _Atomic bool acquiring;

void ring_configure(uint64_t slots_per_ring, unsigned rings_max)
{
    uint64_t slots = 1024;
    while (slots < slots_per_ring && slots < (1u << 26))
        slots *= 2;
    if (lock_take(&registry_lock) != LOCK_TAKEN)
        return; /* the defaults stay */
    slots_wanted = slots;
    rings_wanted = rings_max < RINGS_MAX ? rings_max : RINGS_MAX;
    lock_release(&registry_lock);
}

static void thread_exits(void *ring)
{
    mine = NULL;
    atomic_store_explicit(&((struct ring *)ring)->owner, RING_RETIRED, memory_order_release);
}

/* Runs when the library is loaded, because later keys may need memory in each thread (tag.c). */
__attribute__((constructor)) static void make_exit_key(void)
{
    exit_key_made = pthread_key_create(&exit_key, thread_exits) == 0;
}

static struct ring *ring_new(uint64_t slots)
{
    struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return NULL;
    ring->slots = mmap(NULL, slots * RECORD_SLOT_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring->slots == MAP_FAILED) {
        munmap(ring, sizeof(*ring));
        return NULL;
    }
    ring->capacity = slots;
    return ring;
}

static struct ring *registry_take_locked(void)
{
    unsigned count = atomic_load_explicit(&registered, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++) {
        int expected = RING_FREE;
        if (atomic_compare_exchange_strong(&registry[i]->owner, &expected, RING_OWNED))
            return registry[i];
    }
    if (count >= rings_wanted)
        return NULL;
    struct ring *ring = ring_new(slots_wanted);
    if (!ring)
        return NULL;
    atomic_store_explicit(&ring->owner, RING_OWNED, memory_order_relaxed);
    registry[count] = ring;
    atomic_store_explicit(&registered, count + 1, memory_order_release);
    return ring;
}

static struct ring *acquire(void)
{
    uint64_t asked_in = atomic_load_explicit(&generation, memory_order_acquire);
    if (asked_in == refused_in || lock_take(&registry_lock) != LOCK_TAKEN) {
        atomic_fetch_add_explicit(&refused_threads_events, 1, memory_order_relaxed);
        return NULL;
    }
    struct ring *ring = exit_key_made ? registry_take_locked() : NULL;
    if (ring) {
        ring->next_handle = ++handles_given << HANDLE_RING_SHIFT | 1;
        /* A signal handler may have left a push of the last owner by siglongjmp. */
        atomic_store_explicit(&ring->pushing, false, memory_order_relaxed);
    }
    lock_release(&registry_lock);
    if (!ring) {
        refused_in = asked_in;
        atomic_fetch_add_explicit(&refused_threads_events, 1, memory_order_relaxed);
        return NULL;
    }
    /* If the key cannot be set, the ring is not reused after the thread exits. This does no other harm. */
    (void)pthread_setspecific(exit_key, ring);
    mine = ring;
    return ring;
}

static struct ring *ring_acquire(void)
{
    if (atomic_load_explicit(&acquiring, memory_order_relaxed)) {
        ring_count_dropped();
        return NULL;
    }
    atomic_store_explicit(&acquiring, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    struct ring *ring = acquire();
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&acquiring, false, memory_order_relaxed);
    return ring;
}

struct ring *ring_of_thread(void)
{
    return __builtin_expect(mine != NULL, 1) ? mine : ring_acquire();
}

static uint64_t room_kept(const struct ring *ring, enum ring_urgency urgency)
{
    return urgency == RING_START ? ring->capacity / 8 : urgency == RING_STATE ? ring->capacity / 16 : 0;
}

static bool publish(struct ring *ring, const void *record, unsigned slots, enum ring_urgency urgency)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t wanted = head + slots + room_kept(ring, urgency);
    if (wanted - ring->tail_seen > ring->capacity) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (wanted - ring->tail_seen > ring->capacity)
            return false;
    }
    const unsigned char *from = record;
    for (unsigned i = 0; i < slots; i++)
        memcpy(ring->slots + ((head + i) & (ring->capacity - 1)) * RECORD_SLOT_BYTES,
               from + i * RECORD_SLOT_BYTES, RECORD_SLOT_BYTES);
    atomic_store_explicit(&ring->head, head + slots, memory_order_release);
    return true;
}

/*
 * If a signal handler leaves by siglongjmp during a push, the ring of its thread stays closed. Comparing the
 * addresses of stack frames is not enough to detect this, because a handler on another stack must be refused.
 */
bool ring_push(struct ring *ring, const void *record, unsigned slots, enum ring_urgency urgency)
{
    if (atomic_load_explicit(&ring->pushing, memory_order_relaxed)) {
        ring_count_dropped();
        return false;
    }
    atomic_store_explicit(&ring->pushing, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    bool published = publish(ring, record, slots, urgency);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&ring->pushing, false, memory_order_relaxed);
    if (!published)
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
    return published;
}

unsigned ring_count(void)
{
    return atomic_load_explicit(&registered, memory_order_acquire);
}

struct ring *ring_at(unsigned index)
{
    return registry[index];
}

void ring_map_ahead(struct ring *ring)
{
    uint64_t bytes = ring->capacity * RECORD_SLOT_BYTES;
    if (ring->is_mapped_ahead ||
        atomic_load_explicit(&ring->head, memory_order_relaxed) < MAPPED_AHEAD_FROM_SLOTS)
        return;
    ring->is_mapped_ahead = true;
    (void)madvise(ring->slots, bytes < MAPPED_AHEAD_BYTES ? bytes : MAPPED_AHEAD_BYTES, MADV_POPULATE_WRITE);
}

bool ring_next_range(struct ring *ring, uint64_t *at, uint64_t *limit)
{
    *limit = atomic_load_explicit(&ring->head, memory_order_acquire);
    *at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (*limit - *at <= ring->capacity)
        return *limit != *at;
    /* Cannot happen, but reading on would never end. */
    ring_count_dropped();
    atomic_store_explicit(&ring->tail, *limit, memory_order_release);
    return false;
}

static const unsigned char *slot_at(const struct ring *ring, uint64_t at)
{
    return ring->slots + (at & (ring->capacity - 1)) * RECORD_SLOT_BYTES;
}

uint64_t ring_time_ns(const struct ring *ring, uint64_t at)
{
    uint64_t time_ns;
    memcpy(&time_ns, slot_at(ring, at) + offsetof(struct record, time_ns), sizeof(time_ns));
    return time_ns;
}

unsigned ring_copy(const struct ring *ring, uint64_t at, void *record)
{
    unsigned char *to = record;
    memcpy(to, slot_at(ring, at), RECORD_SLOT_BYTES);
    unsigned slots = ((const struct record *)record)->slots;
    if (slots == 0 || slots > RECORD_SLOTS_MAX)
        return 0;
    for (unsigned i = 1; i < slots; i++)
        memcpy(to + i * RECORD_SLOT_BYTES, slot_at(ring, at + i), RECORD_SLOT_BYTES);
    return slots;
}

void ring_recycle(struct ring *ring)
{
    int expected = RING_RETIRED;
    if (atomic_compare_exchange_strong(&ring->owner, &expected, RING_FREE))
        atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

struct ring_drop_counts ring_drop_counts(void)
{
    struct ring_drop_counts drops = {.without_ring =
                                         atomic_load_explicit(&refused_threads_events, memory_order_relaxed),
                                     .other = atomic_load_explicit(&dropped_elsewhere, memory_order_relaxed)};
    for (unsigned i = 0; i < ring_count(); i++)
        drops.full += atomic_load_explicit(&registry[i]->dropped, memory_order_relaxed);
    return drops;
}

void ring_count_dropped(void)
{
    atomic_fetch_add_explicit(&dropped_elsewhere, 1, memory_order_relaxed);
}

uint64_t ring_unknown(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < ring_count(); i++)
        sum += atomic_load_explicit(&registry[i]->unknown, memory_order_relaxed);
    return sum;
}

void ring_forget_all(void)
{
    atomic_store_explicit(&registry_lock.holder, 0, memory_order_relaxed);
    mine = NULL;
    refused_in = 0;
    atomic_store_explicit(&refused_threads_events, 0, memory_order_relaxed);
    atomic_store_explicit(&dropped_elsewhere, 0, memory_order_relaxed);
    if (exit_key_made)
        (void)pthread_setspecific(exit_key, NULL);
    atomic_store_explicit(&registered, 0, memory_order_relaxed);
}
