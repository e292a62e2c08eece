#include "format/nccl/start_up.h"

#include "format/nccl/speakers.h"

/* So many communicators a process makes at once at the most: one for each GPU, and some to spare. */
enum { MADE_AT_ONCE = 64 };

/* Names of functions are words of a source; what is longer is none. */
enum { NAME_MOST = 64 };

static int name_function(struct start *start, struct text name, struct intern *functions)
{
    if (start->function >= 0 || !name.length || name.length > NAME_MOST)
        return 0;
    start->function = intern_put(functions, name.data, name.length);
    return start->function < 0 ? -1 : 0;
}

int start_take_init(struct start *start, const struct message_init *init, int64_t tid, int64_t at_ns,
                    uint64_t offset, struct intern *functions)
{
    start->tid = tid;
    if (!init->is_complete) {
        start->told.begin_ns = at_ns;
        start->offset = offset;
    } else {
        start->told.end_ns = at_ns;
        start->offset = start->offset ? start->offset : offset;
    }
    return name_function(start, init->function, functions);
}

int start_take_bootstrap(const struct speakers *speakers, int64_t speaker, int64_t tid, int64_t total_ns)
{
    struct seat *seat = speakers_seat_before(speakers, speaker, NULL);
    for (int i = 0; seat && i < MADE_AT_ONCE; i++, seat = speakers_seat_before(speakers, speaker, seat))
        if (seat->start.tid == tid && !seat->is_complete && !seat->parent) {
            seat->start.told.parts_ns[START_BOOTSTRAP] = total_ns;
            return 1;
        }
    return 0;
}

/* What is told to the microsecond is not told again by hundredths of a second. */
static void take_parts(struct start_up *start, const struct timings *timings)
{
    start->total_ns = timings->total_ns;
    for (int i = 0; i < START_PARTS; i++)
        if (start->parts_ns[i] == TIME_UNKNOWN)
            start->parts_ns[i] = timings->parts_ns[i];
}

int start_take_timings(const struct speakers *speakers, int64_t speaker, int64_t tid,
                       const struct timings *timings, struct intern *functions)
{
    struct seat *seat = speakers_seat_before(speakers, speaker, NULL);
    for (int i = 0; seat && i < MADE_AT_ONCE; i++, seat = speakers_seat_before(speakers, speaker, seat)) {
        int is_it = seat->is_complete && seat->start.told.total_ns == TIME_UNKNOWN &&
                    seat->start.tid == tid && seat->rank == timings->rank && seat->ranks == timings->ranks;
        if (!is_it)
            continue;
        take_parts(&seat->start.told, timings);
        return name_function(&seat->start, timings->function, functions) ? -1 : 1;
    }
    return 0;
}

void start_tell(const struct seat *seat, const struct intern *functions, struct start_up *told)
{
    const struct start *start = &seat->start;
    *told = start->told;
    told->function = start->function < 0 ? NULL : intern_text(functions, start->function);
    told->parent_hash = seat->parent_hash;
    told->is_complete = seat->is_complete;
}
