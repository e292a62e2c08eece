/*
 * For how long no data arrived in a collective although all members with a trace had started, from its
 * network steps. This shows how long they waited for a rank without a trace.
 */
#include "base/base.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>

/*
 * Network steps end at random distances. If these are distributed like those of independent events, the
 * longest of n is below log(n) + 3 times the average in 95 of 100 cases. In recorded healthy jobs, some
 * channel of an operation was below twice the average in nine of ten.
 */
static const double LONGEST = 3;
enum { STEPS_APART = 2 };

static int is_operation_before(const void *item, const void *wanted)
{
    return ((const struct job_arrivals *)item)->operation < *(const int32_t *)wanted;
}

/* For how long no data arrived on a channel, and the average distance of the other network steps. */
struct standstill {
    int64_t still_ns;
    int64_t pace_ns;
};

/* The part of a standstill that network steps do not reach by chance; 0: it may be chance. */
static int64_t sure_ns(struct standstill still, int32_t steps)
{
    return still.still_ns > scale(still.pace_ns, log(steps) + LONGEST) ? still.still_ns - still.pace_ns : 0;
}

/* The part of a standstill that is longer than usual network steps. */
static int64_t unusual_ns(struct standstill still)
{
    return still.still_ns > STEPS_APART * still.pace_ns ? still.still_ns - STEPS_APART * still.pace_ns : 0;
}

/* The standstill before the first network step, once all members with a trace had started. */
static struct standstill first_standstill(const struct job_arrivals *arrivals, int64_t last_start_ns)
{
    return (struct standstill){arrivals->first_ns - last_start_ns,
                               (arrivals->last_ns - arrivals->first_ns) / (arrivals->steps - 1)};
}

static struct standstill longest_standstill(const struct job_arrivals *arrivals, int64_t last_start_ns)
{
    int64_t first_ns = arrivals->first_ns - last_start_ns, whole_ns = arrivals->last_ns - last_start_ns;
    int64_t longest_ns = first_ns > arrivals->longest_ns ? first_ns : arrivals->longest_ns;
    return (struct standstill){longest_ns,
                               whole_ns > longest_ns ? (whole_ns - longest_ns) / (arrivals->steps - 1) : 0};
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether the longest standstill began when the ranks between a rank and the receiver had sent their data. */
static int is_before_due(const struct job *job, const struct job_arrivals *arrivals, int64_t number)
{
    int32_t communicator = job->operations[arrivals->operation].communicator;
    int64_t size = job->communicators[communicator].size;
    return arrivals->sender >= 0 && arrivals->before_longest < size &&
           job_rank_in(job, communicator, (number + arrivals->before_longest) % size) == arrivals->sender;
}

static void add_channel(struct stillness *still, const struct job *job, const struct job_arrivals *arrivals,
                        int64_t last_start_ns, int64_t number)
{
    struct standstill first = first_standstill(arrivals, last_start_ns),
                      longest = longest_standstill(arrivals, last_start_ns);
    int64_t first_ns = sure_ns(first, arrivals->steps);
    still->at_first_ns = least_of(still->at_first_ns, first_ns);
    if (arrivals->sender >= 0 && job->ranks[arrivals->sender].process_id < 0)
        still->from_absent_ns = least_of(still->from_absent_ns, first_ns);
    still->at_any_ns = least_of(still->at_any_ns, sure_ns(longest, arrivals->steps));
    still->unusual_ns = least_of(still->unusual_ns, unusual_ns(longest));
    still->pace_ns = least_of(still->pace_ns, first.pace_ns);
    still->channels++;
    still->before_due += is_before_due(job, arrivals, number);
}

struct stillness stillness_of(const struct job *job, const struct job_instance *instance, int64_t number)
{
    struct stillness still = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 0, 0};
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        size_t next =
            lower_bound(job->arrivals, job->arrival_count, sizeof *job->arrivals, is_operation_before, &at);
        if (member->start_ns == TIME_UNKNOWN || member->end_ns == TIME_UNKNOWN)
            continue;
        for (; next < job->arrival_count && job->arrivals[next].operation == at; next++)
            add_channel(&still, job, &job->arrivals[next], member->end_ns - instance->transfer_ns, number);
    }
    return still;
}

int64_t stillness_wait_ns(const struct stillness *still)
{
    int64_t direct_ns =
        still->from_absent_ns == INT64_MAX ? 0 : least_of(still->from_absent_ns, still->at_any_ns);
    if (still->before_due * 2 > still->channels)
        direct_ns = still->at_any_ns;
    return direct_ns > still->at_first_ns ? direct_ns : still->at_first_ns;
}
