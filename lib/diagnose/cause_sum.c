/*
 * Sums up what the nodes say, series by series and kind of message by kind, over the time in which a fault
 * showed and over the other steps (cause.c compares the two).
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* Hosts without a rank at fault that are read for comparison. */
enum { OTHER_HOSTS = 8 };

/* Long samples tell what is usual if this part is in the time of the fault. */
static const double SMALL_OVERLAP = 0.1;

/* A GPU that is in use for less of the time than this is idle. */
static const double IDLE_PART = 0.02;

static void forget_sums_from(struct cause_search *search, size_t from)
{
    for (size_t i = from; i < search->count; i++) {
        free(search->sums[i].device);
        free(search->sums[i].file);
    }
    search->count = from;
}

void cause_search_forget(struct cause_search *search)
{
    forget_sums_from(search, 0);
    fault_time_release(&search->time);
    cause_stacks_release(&search->stacks);
}

/* ---- sums ---- */

static int copy(const char *text, char **copied)
{
    *copied = text ? strdup(text) : NULL;
    return text && !*copied ? -1 : 0;
}

int cause_same_device(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static struct cause_sum *add_sum(struct cause_search *search, enum node_place place, const char *device,
                                 const char *file)
{
    if (array_reserve((void **)&search->sums, &search->capacity, search->count + 1, sizeof *search->sums))
        return NULL;
    struct cause_sum *sum = &search->sums[search->count];
    *sum = (struct cause_sum){
        .host = search->host, .place = place, .begin_ns = TIME_UNKNOWN, .end_ns = TIME_UNKNOWN};
    if (copy(device, &sum->device) || copy(file, &sum->file)) {
        free(sum->device);
        return NULL;
    }
    search->count++;
    return sum;
}

static struct cause_sum *sum_of(struct cause_search *search, const struct node_reading *reading)
{
    /* A series in the records of several files counts as one. */
    for (size_t i = search->count; i > 0; i--) {
        struct cause_sum *sum = &search->sums[i - 1];
        if (sum->host != search->host || sum->place != reading->place || sum->metric != reading->metric ||
            sum->is_message)
            break;
        if (cause_same_device(sum->device, reading->device))
            return sum;
    }
    struct cause_sum *sum = add_sum(search, reading->place, reading->device, reading->file);
    if (sum)
        sum->metric = reading->metric;
    return sum;
}

/* How long a sample is of steps, those of the fault or others; one of a moment stands for its time. */
static double part_in(const struct interval_ns *steps, size_t count, const struct node_reading *reading)
{
    struct interval_ns moment = {reading->moment_ns, reading->moment_ns + 1};
    if (reading->moment_ns == TIME_UNKNOWN)
        return (double)intervals_covered_ns(steps, count, reading->during);
    return intervals_covered_ns(steps, count, moment) > 0
               ? (double)(reading->during.end_ns - reading->during.begin_ns)
               : 0;
}

static int sum_up(void *context, const struct node_reading *reading)
{
    struct cause_search *search = context;
    const struct fault_time *time = &search->time;
    struct interval_ns during = reading->during;
    int is_counter = node_metric_is_counter(reading->metric);
    double length_ns = (double)(during.end_ns - during.begin_ns);
    if (!fault_time_is_exact(time, reading->error_ns))
        return 0;
    struct cause_sum *sum = sum_of(search, reading);
    if (!sum)
        return -1;
    if (during.end_ns > sum->end_ns)
        sum->end_ns = during.end_ns;
    double faulty_ns = part_in(time->faulty, time->faulty_count, reading), other_ns = 0;
    /* A sample that overlaps the fault may show it, unless it is mostly of, or the same in, other steps. */
    if (faulty_ns <= 0 || length_ns >= 2 * (double)time->faulty_ns ||
        (faulty_ns <= SMALL_OVERLAP * length_ns && 2 * length_ns >= (double)time->faulty_ns))
        other_ns = part_in(time->others, time->other_count, reading);
    if (length_ns <= 0)
        return 0;
    /* The source is a file that shows it while the fault did. */
    if (faulty_ns > 0 && sum->faulty_ns <= 0 && !cause_same_device(reading->file, sum->file)) {
        free(sum->file);
        if (copy(reading->file, &sum->file))
            return -1;
    }
    sum->faulty += reading->value * (is_counter ? faulty_ns / length_ns : faulty_ns);
    sum->other += reading->value * (is_counter ? other_ns / length_ns : other_ns);
    sum->faulty_ns += faulty_ns;
    sum->other_ns += other_ns;
    return 0;
}

/* Xid 45 and 145 follow from the end of a process, whatever ended it. */
static int is_echo(const struct node_event *said)
{
    return said->code == NODE_EVENT_XID && (said->number == 45 || said->number == 145);
}

static struct cause_sum *sum_of_messages(struct cause_search *search, const struct node_message *message)
{
    const struct node_event *said = &message->said;
    for (size_t i = 0; i < search->count; i++) {
        struct cause_sum *sum = &search->sums[i];
        if (sum->is_message && sum->host == search->host && sum->code == said->code &&
            sum->number == said->number && sum->place == said->place &&
            cause_same_device(sum->device, said->device))
            return sum;
    }
    struct cause_sum *sum = add_sum(search, said->place, said->device, message->file);
    if (!sum)
        return NULL;
    sum->is_message = 1;
    sum->code = said->code;
    sum->number = said->number;
    return sum;
}

/* Whether the message comes as soon as what it is about stops a job. */
static int is_at_once(const struct node_event *said)
{
    for (size_t i = 0; i < cause_rule_count; i++)
        if (cause_rules[i].side == CAUSE_MESSAGE && cause_rules[i].code == said->code &&
            cause_rule_has_number(&cause_rules[i], said->number))
            return cause_rules[i].is_at_once;
    return 0;
}

static int sum_message(void *context, const struct node_message *message)
{
    struct cause_search *search = context;
    const struct fault_time *time = &search->time;
    const struct node_event *said = &message->said;
    if (said->code == NODE_EVENT_STACK)
        return cause_stacks_add(&search->stacks, &search->places, time, search->host, message);
    if (said->at_ns == TIME_UNKNOWN || is_echo(said))
        return 0;
    struct interval_ns moment = cause_moment(said);
    if (said->error_ns > time->onset_ns + time->faulty_ns / 2 || moment.end_ns < time->whole.begin_ns ||
        moment.begin_ns > time->whole.end_ns)
        return 0;
    struct cause_sum *sum = sum_of_messages(search, message);
    if (!sum)
        return -1;
    sum->faulty_ns = (double)time->faulty_ns;
    sum->other_ns = (double)time->other_ns;
    sum->within += intervals_covered_ns(time->faulty, time->faulty_count, moment) > 0;
    if (!fault_time_has_message(time, moment, is_at_once(said)))
        sum->other += intervals_covered_ns(time->others, time->other_count, moment) > 0;
    else if (sum->faulty++ == 0)
        sum->begin_ns = moment.end_ns - said->error_ns - 1;
    return 0;
}

/*
 * Whether the GPUs of a host's ranks were idle in all steps, as its records say: then these are of another
 * time, because their clock is off, and tell nothing.
 */
static int are_gpus_idle(const struct cause_search *search, size_t host, size_t from)
{
    size_t idle = 0;
    for (size_t i = from; i < search->count && !search->time.is_stop; i++) {
        const struct cause_sum *sum = &search->sums[i];
        double time_ns = sum->faulty_ns + sum->other_ns;
        if (sum->metric != NODE_GPU_UTILIZATION || time_ns <= 0 ||
            cause_side(&search->places, host, CAUSE_ON_GPU, sum->place, sum->device) == CAUSE_OF_NONE)
            continue;
        if ((sum->faulty + sum->other) / time_ns >= IDLE_PART)
            return 0;
        idle++;
    }
    return idle > 0;
}

/* Reads what a host says; 1: its records are of another time. */
static int sum_host(struct cause_search *search, size_t host, struct error *error)
{
    struct store *store = search->places.job->store;
    const struct node_host *of = &search->places.hosts.items[host];
    size_t from = search->count;
    search->host = host;
    if (node_samples_read(of, store, search->time.whole, sum_up, search, error))
        return -1;
    if (are_gpus_idle(search, host, from)) {
        forget_sums_from(search, from);
        return 1;
    }
    return node_messages_read(of, store, sum_message, search, error);
}

/* Reads the hosts of the ranks at fault, and some others for comparison. */
int cause_search_sum(struct cause_search *search, struct finding *finding, struct error *error)
{
    struct cause_places *places = &search->places;
    size_t others = 0;
    for (size_t host = 0; host < places->hosts.count; host++) {
        int has_rank = 0;
        for (int32_t rank = 0; rank < (int32_t)places->job->rank_count; rank++) {
            if (places->host_of[rank] != (int32_t)host)
                continue;
            has_rank = 1;
            if (!cause_clock(places, rank, error))
                return -1;
        }
        if (!has_rank ||
            (!search->is_of_all && !cause_host_is_accused(places, host) && others++ >= OTHER_HOSTS))
            continue;
        if (cause_place_uses(places, host, error))
            return -1;
        int is_apart = sum_host(search, host, error);
        if (is_apart < 0)
            return -1;
        search->apart += is_apart > 0;
        if (cause_host_is_accused(places, host))
            finding->has_records_apart |= is_apart;
    }
    return 0;
}
