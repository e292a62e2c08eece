/*
 * Tags of the whole process: ncclprof_tag, ncclNotifyTag and the nesting of NVTX ranges. A tag set before the
 * first communicator is stored until recording begins.
 */
#include "plugin/ncclprof_tag.h"
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Ranges that are nested deeper are counted, so that their ends still match, but their text is not stored.
 * The counts exist for DOMAINS_MAX domains.
 */
#define DEPTH_MAX 64
#define DOMAINS_MAX 16

struct range {
    const void *domain;
    unsigned short length;
    bool kept; /* passes the prefix filter */
    bool truncated;
    char text[]; /* as long as the stored part of a tag */
};

struct overflow {
    const void *domain;
    unsigned count; /* open ranges that are not stored; 0: this entry is free */
};

struct ranges {
    unsigned depth; /* entries in use */
    struct overflow overflows[DOMAINS_MAX];
    _Alignas(struct range) unsigned char open[];
};

/*
 * Created with the first range of a thread. In the thread-local memory of the library it would be part of
 * every thread's stack if the library is preloaded. It is mapped, because a signal handler may push a range
 * while its thread allocates. The linker still allocates the pointer at the first use of the library in a
 * thread.
 */
static _Thread_local struct ranges *mine;
static pthread_key_t key;
static bool key_made;
/*
 * Set during a call: a signal handler that interrupts it would find the ranges half changed, and early_lock
 * held by its own thread.
 */
static _Thread_local _Atomic bool busy;

static struct lock early_lock;
/* The newest tag that was set before recording began. */
static char early_text[RECORD_TEXT_MAX];
static size_t early_length;
static bool early_truncated;
static enum tag_source early_source;
static unsigned early_depth;
static bool early_set;

/* Returns false, and counts the call, if another call of this thread has not returned. */
static bool enter(void)
{
    if (atomic_load_explicit(&busy, memory_order_relaxed)) {
        ring_count_dropped();
        return false;
    }
    atomic_store_explicit(&busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static void leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&busy, false, memory_order_relaxed);
}

static bool passes_prefix(const char *text, size_t length)
{
    const char *prefix = config_tags()->prefix;
    size_t wanted = strlen(prefix);
    return length >= wanted && memcmp(text, prefix, wanted) == 0;
}

/*
 * Returns false if recording began meanwhile: the stored tag has then been recorded. Returns true, and counts
 * the call, if the lock cannot be taken.
 */
static bool remember_early(enum tag_source source, unsigned depth, const char *text, size_t length,
                           bool truncated)
{
    if (lock_take(&early_lock) != LOCK_TAKEN) {
        ring_count_dropped();
        return true;
    }
    bool early_enough = !atomic_load_explicit(&recorder_on, memory_order_relaxed);
    if (early_enough) {
        early_length = length;
        early_truncated = truncated;
        memcpy(early_text, text, length);
        early_source = source;
        early_depth = depth;
        early_set = true;
    }
    lock_release(&early_lock);
    return early_enough;
}

/* A JSON object that describes a call. It is passed through and is not a tag. */
static bool is_description(const char *text, size_t length)
{
    return length > 0 && text[0] == '{';
}

static size_t kept_of(const char *text, size_t length)
{
    return text_cut(text, length, is_description(text, length) ? RECORD_TEXT_MAX : config_tags()->bytes);
}

static void emit(enum tag_source source, unsigned depth, const char *text, size_t length, bool truncated)
{
    size_t kept = kept_of(text, length);
    truncated |= kept < length;
    bool recording = atomic_load_explicit(&recorder_on, memory_order_acquire);
    if (!recording && (is_description(text, length) || remember_early(source, depth, text, kept, truncated)))
        return;
    recorder_tag(NULL, -1, source, depth, text, kept, truncated);
}

void tag_begin(void)
{
    (void)enter();
    bool is_locked = lock_take(&early_lock) == LOCK_TAKEN;
    if (is_locked && early_set)
        recorder_tag(NULL, -1, early_source, early_depth, early_text, early_length, early_truncated);
    early_set = false;
    atomic_store_explicit(&recorder_on, true, memory_order_release);
    if (is_locked)
        lock_release(&early_lock);
    leave();
}

/* In a child the lock is free, and the tag of the parent does not apply. */
static void forget_after_fork(void)
{
    atomic_store_explicit(&early_lock.holder, 0, memory_order_relaxed);
    early_set = false;
}

static size_t range_bytes(void)
{
    size_t bytes = sizeof(struct range) + config_tags()->bytes;
    return (bytes + _Alignof(struct range) - 1) / _Alignof(struct range) * _Alignof(struct range);
}

static size_t ranges_bytes(void)
{
    return sizeof(struct ranges) + DEPTH_MAX * range_bytes();
}

static struct range *range_at(struct ranges *ranges, unsigned place)
{
    return (struct range *)(void *)(ranges->open + place * range_bytes());
}

static void thread_exits(void *ranges)
{
    mine = NULL;
    munmap(ranges, ranges_bytes());
}

/*
 * Runs when the library is loaded. A thread has memory for the first 32 keys of a process from its start. For
 * any other key the C library allocates, which a signal handler that interrupts an allocation would wait for.
 */
__attribute__((constructor)) static void library_loads(void)
{
    key_made = pthread_key_create(&key, thread_exits) == 0;
    /* Registered here because it allocates too. If it fails, a child keeps the tag of its parent. */
    (void)pthread_atfork(NULL, NULL, forget_after_fork);
}

/* Returns null when memory is short. */
static struct ranges *ranges_of_thread(void)
{
    if (mine)
        return mine;
    if (!key_made)
        return NULL;
    struct ranges *ranges =
        mmap(NULL, ranges_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ranges == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(key, ranges) != 0) {
        munmap(ranges, ranges_bytes());
        return NULL;
    }
    mine = ranges;
    return ranges;
}

/* Records the tag that applies after the end of a range: the innermost open range that passes the filter. */
static void emit_innermost(struct ranges *ranges)
{
    for (unsigned i = ranges->depth; i-- > 0;)
        if (range_at(ranges, i)->kept) {
            emit(TAG_SOURCE_NVTX, i + 1, range_at(ranges, i)->text, range_at(ranges, i)->length,
                 range_at(ranges, i)->truncated);
            return;
        }
    emit(TAG_SOURCE_NVTX, 0, "", 0, false);
}

/* Returns null if the domain has no entry and `room` is false, or if no entry is free. */
static struct overflow *overflow_of(struct ranges *ranges, const void *domain, bool room)
{
    struct overflow *free_place = NULL;
    for (unsigned i = 0; i < DOMAINS_MAX; i++) {
        struct overflow *overflow = &ranges->overflows[i];
        if (overflow->count == 0)
            free_place = overflow;
        else if (overflow->domain == domain)
            return overflow;
    }
    if (!room || !free_place)
        return NULL;
    free_place->domain = domain;
    return free_place;
}

static void push(const void *domain, const char *text, size_t length)
{
    struct ranges *ranges = ranges_of_thread();
    if (!ranges) {
        ring_count_dropped();
        return;
    }
    /*
     * After a range that was only counted, all further ranges of its domain are counted, so that ends match
     * from the innermost outwards.
     */
    struct overflow *overflow = overflow_of(ranges, domain, ranges->depth == DEPTH_MAX);
    if (overflow)
        overflow->count++;
    if (overflow || ranges->depth == DEPTH_MAX)
        return;
    struct range *range = range_at(ranges, ranges->depth++);
    range->domain = domain;
    range->length = (unsigned short)text_cut(text, length, config_tags()->bytes);
    range->truncated = range->length < length;
    memcpy(range->text, text, range->length);
    range->kept = !is_description(text, length) && passes_prefix(text, length);
    if (range->kept || is_description(text, length))
        emit(TAG_SOURCE_NVTX, ranges->depth, text, length, false);
}

void tag_push(const void *domain, const char *text, size_t length)
{
    if (!enter())
        return;
    push(domain, text, length);
    leave();
}

static void pop(const void *domain)
{
    struct ranges *ranges = mine;
    if (!ranges)
        return;
    struct overflow *overflow = overflow_of(ranges, domain, false);
    if (overflow) {
        overflow->count--;
        return;
    }
    for (unsigned i = ranges->depth; i-- > 0;) {
        if (range_at(ranges, i)->domain != domain)
            continue;
        bool kept = range_at(ranges, i)->kept;
        memmove(range_at(ranges, i), range_at(ranges, i + 1), (ranges->depth - i - 1) * range_bytes());
        ranges->depth--;
        if (kept)
            emit_innermost(ranges);
        return;
    }
}

void tag_pop(const void *domain)
{
    if (!enter())
        return;
    pop(domain);
    leave();
}

void tag_mark(const char *text, size_t length)
{
    if (!enter())
        return;
    if (is_description(text, length) || passes_prefix(text, length))
        emit(TAG_SOURCE_NVTX, mine ? mine->depth : 0, text, length, false);
    leave();
}

void tag_of_nccl(const void *context, int rank, const char *text)
{
    if (!atomic_load_explicit(&recorder_on, memory_order_acquire))
        return;
    size_t length = text ? strnlen(text, RECORD_TEXT_MAX + 1) : 0;
    size_t kept = kept_of(text, length);
    recorder_tag(context, rank, TAG_SOURCE_NCCL, 0, text ? text : "", kept, kept < length);
}

PLUGIN_EXPORT void ncclprof_tag(const char *tag)
{
    size_t length = tag ? strnlen(tag, RECORD_TEXT_MAX + 1) : 0;
    if (!enter())
        return;
    emit(TAG_SOURCE_CALL, 0, tag ? tag : "", length, false);
    leave();
}
