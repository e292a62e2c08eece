#include "plugin/write/drops.h"

#include <string.h>

#include "plugin/ring/clock.h"
#include "plugin/ring/communicator.h"
#include "plugin/ring/log.h"

static void log_drop(const char *path, uint64_t count, uint64_t before, const char *cause,
                     const char *settings)
{
    if (count && !before)
        log_line(API_LOG_WARN, "%s are dropped and counted in %s%s", cause, path, settings);
}

/* Each cause once. */
static void log_drops(const struct drops *drops, const struct notes_drops *now,
                      const struct ring_drops *rings, const char *path)
{
    const struct ring_drops *before = &drops->logged;
    log_drop(path, rings->ringless, before->ringless,
             "there are more threads than rings; events of some threads", " (NCCLPROF_MAX_THREADS)");
    log_drop(path, rings->full, before->full, "events arrive faster than they can be written; some events",
             " (NCCLPROF_BUFFER_EVENTS, NCCLPROF_EVENT_MASK)");
    log_drop(path, rings->other, before->other,
             "tags that a signal handler sets during an event, or for which there is no memory,", "");
    if (now->communicators && !drops->written.communicators)
        log_line(API_LOG_WARN,
                 "some communicators have no number: there are too many, or they were not added in time; "
                 "their operations are recorded without a communicator in %s",
                 path);
}

/* Inspector has no line of its own for it: only where operations may be missing. */
static bool concerns_inspector(const struct notes_drops *now, const struct notes_drops *before, bool always)
{
    bool any = now->ring || now->lost || now->evicted || now->orphans || now->unknown || now->communicators;
    struct notes_drops but_late = *now;
    but_late.late = before->late;
    return any && (always || memcmp(&but_late, before, sizeof(but_late)) != 0);
}

void drops_write(struct drops *drops, const struct tree_counts *counts, struct chrome *chrome,
                 struct inspector *inspector, bool always)
{
    struct ring_drops rings = ring_drops();
    struct notes_drops now = {.ring = rings.full + rings.ringless + rings.other,
                              .lost = counts->lost,
                              .evicted = counts->evicted,
                              .late = counts->late,
                              .orphans = counts->orphans,
                              .unknown = ring_unknown(),
                              .communicators = communicator_refused()};
    if (!always && memcmp(&now, &drops->written, sizeof(now)) == 0)
        return;
    log_drops(drops, &now, &rings, chrome ? chrome->sink->path : inspector ? inspector->sink->path : "");
    if (chrome)
        notes_drops(chrome, &now, clock_monotonic_ns());
    if (inspector && concerns_inspector(&now, &drops->written, always))
        inspector_drops(inspector, &now);
    drops->written = now;
    drops->logged = rings;
}
