#include "steps/wait_history.h"

#include "base/array.h"

#include <stdlib.h>

/* Of a rank in a step. */
struct waited {
    int64_t wait_ns;
    int64_t steps;
};

struct waits {
    const struct job *job;
    struct waited *sums;    /* owned: [rank * step_count + step] */
    unsigned char *is_mine; /* owned, as below: of each rank */
    int64_t *mine;
    int64_t *peers;
};

static void add_traffic(struct waits *waits, int by_receiver)
{
    const struct job *job = waits->job;
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int32_t rank = by_receiver ? traffic->receiver : traffic->sender;
        int32_t step = job->operations[traffic->operation].step;
        if (traffic->by_receiver || rank < 0 || step < 0 || step >= job->step_count)
            continue;
        struct waited *sum = &waits->sums[(size_t)rank * (size_t)job->step_count + (size_t)step];
        sum->wait_ns += traffic->network_wait_ns;
        sum->steps += traffic->steps;
    }
}

static void set_step(const struct waits *waits, struct step_history *history, int32_t step)
{
    const struct job *job = waits->job;
    size_t mine = 0, peers = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        const struct waited *sum = &waits->sums[rank * (size_t)job->step_count + (size_t)step];
        if (!sum->steps)
            continue;
        if (waits->is_mine[rank])
            waits->mine[mine++] = sum->wait_ns / sum->steps;
        else
            waits->peers[peers++] = sum->wait_ns / sum->steps;
    }
    step_history_set(history, step, waits->mine, mine, waits->peers, peers);
}

int wait_history_init(struct step_history *history, const struct job *job, const int32_t *ranks,
                      size_t rank_count, int by_receiver)
{
    struct waits waits = {
        .job = job,
        .sums = array_new(job->rank_count + 1, ((size_t)job->step_count + 1) * sizeof *waits.sums),
        .is_mine = array_new(job->rank_count + 1, 1),
        .mine = array_new(job->rank_count + 1, sizeof *waits.mine),
        .peers = array_new(job->rank_count + 1, sizeof *waits.peers)};
    int failed = step_history_init(history, job->first_step, job->step_count) || !waits.sums ||
                 !waits.is_mine || !waits.mine || !waits.peers;
    for (size_t i = 0; !failed && i < rank_count; i++)
        waits.is_mine[ranks[i]] = 1;
    if (!failed)
        add_traffic(&waits, by_receiver);
    for (int32_t step = history->first_step; !failed && step < job->step_count; step++)
        set_step(&waits, history, step);
    free(waits.sums);
    free(waits.is_mine);
    free(waits.mine);
    free(waits.peers);
    return failed ? -1 : 0;
}
