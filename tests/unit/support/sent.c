#include "support/sent.h"

enum { WAIT_NS = 1000, NOISE_NS = 100, TIMES = 10 };

/* A linear congruential generator (Knuth's MMIX) of the place: noise that recurred would be a fault. */
static int64_t noise_of(size_t at)
{
    uint64_t random = (uint64_t)(at + 1) * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random ^ random >> 31) * 6364136223846793005u >> 33) % (NOISE_NS + 1);
}

static void put(struct sent *sent, size_t ranks, size_t at, int is_slow)
{
    int32_t rank = (int32_t)(at % ranks), step = (int32_t)(at / ranks);
    size_t further = ranks > SENT_HOST ? SENT_HOST : ranks / 2;
    sent->members[at] = sent->by_step[at] = (int32_t)at;
    sent->first_edge[at + 1] = at + 1;
    sent->step_end[step] = at + 1;
    sent->operations[at].bytes = 1024;
    sent->instances[at] = (struct job_instance){.first_member = (uint32_t)at, .step = step};
    sent->items[at] = (struct edge){.instance = (int32_t)at,
                                    .sender = rank,
                                    .receiver = (int32_t)(((size_t)rank + further) % ranks),
                                    .step = step,
                                    .steps = 2,
                                    .wait_ns = 2 * (WAIT_NS * (is_slow ? TIMES : 1) + noise_of(at))};
}

void sent_init(struct sent *sent, size_t ranks, int slow, int count, int32_t first, int32_t last)
{
    *sent = (struct sent){.communicator = {.size = 2}};
    for (size_t at = 0; at < ranks * SENT_STEPS; at++) {
        int rank = (int)(at % ranks), step = (int)(at / ranks);
        put(sent, ranks, at, rank >= slow && rank < slow + count && step >= first && step <= last);
    }
    sent->job = (struct job){.rank_count = ranks,
                             .ranks = sent->ranks,
                             .operations = sent->operations,
                             .instance_count = ranks * SENT_STEPS,
                             .instances = sent->instances,
                             .instance_members = sent->members,
                             .by_step = sent->by_step,
                             .step_end = sent->step_end,
                             .communicators = &sent->communicator,
                             .step_count = SENT_STEPS};
    sent->edges =
        (struct edges){.items = sent->items, .count = ranks * SENT_STEPS, .first = sent->first_edge};
}
