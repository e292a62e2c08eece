/* Log lines of the plugin, through NCCL's logger or to standard error; and the lock that shows its owner. */
#include "plugin/ring/api.h"
#include "plugin/ring/ring.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic(api_logger *) current;
static _Atomic int level_limit;

void log_set(api_logger *logger)
{
    atomic_store_explicit(&current, logger, memory_order_release);
}

void log_limit(int most)
{
    atomic_store_explicit(&level_limit, most, memory_order_relaxed);
}

/* Bypasses the buffer of the C library: a fork or another thread may leave its lock held. */
static void write_line(const char *line)
{
    char whole[5100];
    int length = snprintf(whole, sizeof(whole), "ncclprof: %s\n", line);
    ssize_t written = length > 0 ? write(STDERR_FILENO, whole, (size_t)length) : 0;
    (void)written;
}

static void put_line(api_logger *logger, enum api_log_level level, const char *format, va_list values)
{
    char line[5000];
    if (vsnprintf(line, sizeof(line), format, values) < 0)
        return;
    if (logger)
        logger((int)level, API_LOG_INIT, "ncclprof", 0, "ncclprof: %s", line);
    else if ((int)level <= atomic_load_explicit(&level_limit, memory_order_relaxed))
        write_line(line);
}

void log_line(enum api_log_level level, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    put_line(atomic_load_explicit(&current, memory_order_acquire), level, format, values);
    va_end(values);
}

void log_line_by(api_logger *logger, enum api_log_level level, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    put_line(logger, level, format, values);
    va_end(values);
}

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
