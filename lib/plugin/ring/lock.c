#include "plugin/ring/lock.h"

#include "plugin/ring/futex.h"

enum lock_result lock_take(struct lock *lock)
{
    return lock_take_until(lock, clock_monotonic_ns() + LOCK_WAIT_NS);
}

enum lock_result lock_take_until(struct lock *lock, uint64_t until_ns)
{
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    uint32_t holder = 0;
    while (!atomic_compare_exchange_strong_explicit(&lock->holder, &holder, self, memory_order_acquire,
                                                    memory_order_relaxed)) {
        if (holder == self)
            return LOCK_MINE;
        if (!futex_wait(&lock->holder, holder, until_ns))
            return LOCK_TIMEOUT;
        holder = 0;
    }
    return LOCK_TAKEN;
}

void lock_release(struct lock *lock)
{
    atomic_store_explicit(&lock->holder, 0, memory_order_release);
    futex_wake(&lock->holder);
}
