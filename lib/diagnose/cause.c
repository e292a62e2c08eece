/*
 * Finds the causes of findings in the records of nodes: compares each series of samples, and the messages, in
 * the time in which the fault showed (cause_sum.c) with the other steps and other places (cause_rule.c).
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The other steps tell what is usual if they last for this part of the time of the fault. */
static const double LEAST_OTHER_TIME = 0.05;

/* An interface is used if it moves this part of the bytes of the busiest one of its host. */
static const double USED_PART = 0.1;

/* A GPU is busy if it is in use for this part of what is usual. */
static const double BUSY_PART = 0.9;

static int copy(const char *text, char **copied)
{
    *copied = text ? strdup(text) : NULL;
    return text && !*copied ? -1 : 0;
}

/* ---- comparison ---- */

/* The value of a series in the time of the fault, or in the other steps; NaN where it is not known. */
static double value_in(const struct cause_search *search, const struct cause_rule *rule,
                       const struct cause_sum *sum, int is_faulty)
{
    double value = is_faulty ? sum->faulty : sum->other, time_ns = is_faulty ? sum->faulty_ns : sum->other_ns;
    /* What counts messages compares how often they come; what takes one looks shortly before, too. */
    if (rule->side == CAUSE_MESSAGE && !rule->is_statement)
        value = is_faulty ? sum->within : sum->faulty + sum->other - sum->within;
    if (rule->side == CAUSE_MORE || rule->side == CAUSE_MESSAGE) {
        /* As many as there would be in the time of the fault. */
        double faulty_ns = sum->faulty_ns;
        return is_faulty                                                ? value
               : time_ns < LEAST_OTHER_TIME * faulty_ns || time_ns <= 0 ? (double)NAN
                                                                        : value / time_ns * faulty_ns;
    }
    if (time_ns <= 0 || (!is_faulty && time_ns < LEAST_OTHER_TIME * sum->faulty_ns))
        return (double)NAN;
    int64_t cores = search->places.hosts.items[sum->host].cores;
    if (rule->is_per_core)
        return cores > 0 ? value / time_ns / (double)cores : (double)NAN;
    return value / time_ns;
}

/* Whether a value stands out from what is usual. */
static int stands_out(const struct cause_rule *rule, double value, double usual)
{
    if (rule->side == CAUSE_LESS)
        return value <= (1 - rule->floor) * usual;
    return value >= rule->floor && value >= rule->times * usual;
}

static int is_about(const struct cause_rule *rule, const struct cause_sum *sum)
{
    return rule->side == CAUSE_MESSAGE
               ? sum->is_message && sum->code == rule->code && cause_rule_has_number(rule, sum->number)
               : !sum->is_message && sum->metric == rule->metric;
}

static enum cause_side_of side_of(const struct cause_search *search, const struct cause_rule *rule,
                                  const struct cause_sum *sum)
{
    return is_about(rule, sum) ? cause_side(&search->places, sum->host, rule->place, sum->place, sum->device)
                               : CAUSE_OF_NONE;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/*
 * Whether others tell nothing about what is usual: containers of one machine see its pressure, tasks and
 * disks alike, but a quota is that of each; hosts may share a disk that only the rank at fault writes to.
 */
static int has_same_values(const struct cause_search *search, const struct cause_rule *rule, size_t host)
{
    return rule->is_shared || (rule->place == CAUSE_ON_HOST && rule->metric != NODE_CPU_QUOTA_WAIT &&
                               cause_host_shares_machine(&search->places, host));
}

/* Counts the GPUs of ranks that are not at fault and have no such message, on hosts with records. */
static int silent_gpus(const struct cause_search *search, const struct cause_rule *rule, size_t *silent)
{
    const struct cause_places *places = &search->places;
    int32_t ranks = (int32_t)places->job->rank_count;
    unsigned char *has = array_new((size_t)ranks + 1, 1);
    for (size_t i = 0; has && i < search->count; i++)
        for (int32_t rank = 0; is_about(rule, &search->sums[i]) && rank < ranks; rank++)
            has[rank] |= cause_has_rank(places, search->sums[i].host, rule->place, search->sums[i].place,
                                        search->sums[i].device, rank) != 0;
    *silent = 0;
    for (int32_t rank = 0; has && rank < ranks; rank++)
        *silent += !has[rank] && !places->is_accused[rank] && places->host_of[rank] >= 0;
    free(has);
    return has ? 0 : -1;
}

/*
 * The median of the places of others that have the series; NaN: there are none. Other hosts that were read
 * and have no such message, or other GPUs, have none of them.
 */
static int usual_of_others(const struct cause_search *search, const struct cause_rule *rule, double *usual)
{
    int is_of_gpus = rule->side == CAUSE_MESSAGE && rule->place == CAUSE_ON_GPU;
    size_t silent = 0;
    if (is_of_gpus && silent_gpus(search, rule, &silent))
        return -1;
    double *values = array_new(search->count + search->places.hosts.count + silent + 1, sizeof *values);
    unsigned char *has = array_new(search->places.hosts.count + 1, 1);
    size_t count = 0;
    for (size_t i = 0; values && has && i < search->count; i++) {
        double value = value_in(search, rule, &search->sums[i], 1);
        if (side_of(search, rule, &search->sums[i]) != CAUSE_OF_OTHERS || isnan(value) ||
            has_same_values(search, rule, search->sums[i].host))
            continue;
        has[search->sums[i].host] = 1;
        values[count++] = value;
    }
    for (size_t i = 0; values && i < silent; i++)
        values[count++] = 0;
    for (size_t i = 0;
         values && has && !is_of_gpus && rule->side == CAUSE_MESSAGE && i < search->places.hosts.count; i++)
        if (!has[i] && !cause_host_is_accused(&search->places, i) && search->places.host_count > 1 &&
            !has_same_values(search, rule, i))
            values[count++] = 0;
    int failed = !values || !has;
    array_sort(values, failed ? 0 : count, sizeof *values, ascending);
    *usual = count && !failed ? values[(count - 1) / 2] : (double)NAN;
    free(values);
    free(has);
    return failed ? -1 : 0;
}

/* The bytes that an interface moved; NaN: not recorded. */
static double moved_bytes(const struct cause_search *search, size_t host, const char *device)
{
    double moved = (double)NAN;
    for (size_t i = 0; i < search->count; i++) {
        const struct cause_sum *sum = &search->sums[i];
        if (sum->is_message || sum->host != host || !cause_same_device(sum->device, device) ||
            (sum->metric != NODE_SENT_BYTES && sum->metric != NODE_RECEIVED_BYTES))
            continue;
        moved = (isnan(moved) ? 0 : moved) + sum->faulty + sum->other;
    }
    return moved;
}

/* Whether the job uses an interface, as far as is known: an unused one cannot be the cause. */
static int is_used(const struct cause_search *search, const struct cause_sum *sum)
{
    double most = 0, moved = sum->device ? moved_bytes(search, sum->host, sum->device) : 0;
    if (sum->place != NODE_INTERFACE && sum->place != NODE_PORT)
        return 1;
    size_t interfaces = 1;
    for (size_t i = 0; i < search->count; i++) {
        const struct cause_sum *other = &search->sums[i];
        if (other->host != sum->host || (other->place != NODE_INTERFACE && other->place != NODE_PORT))
            continue;
        double bytes = moved_bytes(search, other->host, other->device);
        interfaces += !cause_same_device(other->device, sum->device);
        most = bytes > most ? bytes : most;
    }
    if (isnan(moved))
        return interfaces == 1;
    return moved > 0 && moved >= USED_PART * most;
}

/* Sets what is usual: in the other steps, else in other places. Returns whether the cause stands out. */
static int compare(const struct cause_search *search, const struct cause_rule *rule,
                   const struct cause_sum *sum, double others, struct cause *cause)
{
    double before = value_in(search, rule, sum, 0);
    cause->value = value_in(search, rule, sum, 1);
    cause->usual = isnan(before) ? others : before;
    cause->is_not_compared = isnan(before);
    cause->has_others = !isnan(others);
    if (isnan(cause->value) || (isnan(before) && rule->needs_before) ||
        (isnan(cause->usual) && !rule->is_statement) ||
        (!isnan(before) && !stands_out(rule, cause->value, before)) ||
        (!isnan(others) && !stands_out(rule, cause->value, others)) ||
        (isnan(cause->usual) && !stands_out(rule, cause->value, 0)))
        return 0;
    cause->strength = rule->side == CAUSE_LESS ? (1 - cause->value / cause->usual) / rule->floor
                                               : cause->value / rule->floor;
    return 1;
}

int cause_search_shows(const struct cause_search *search, const struct cause_rule *rule,
                       const struct cause_sum *sum)
{
    struct cause cause = {.rule = rule};
    return is_about(rule, sum) && compare(search, rule, sum, (double)NAN, &cause);
}

/* Fills in a cause, apart from its words and when it began. */
static int take_cause(const struct cause_search *search, const struct cause_rule *rule,
                      const struct cause_sum *sum, struct cause *cause)
{
    const struct node_host *host = &search->places.hosts.items[sum->host];
    cause->rule = rule;
    cause->begin_ns = sum->begin_ns;
    cause->at_host = sum->host;
    cause->place = sum->place;
    cause->lasted_ns = sum->faulty;
    if (sum->is_message && sum->number != COUNT_UNKNOWN)
        cause->value = (double)sum->number;
    return copy(sum->file, &cause->source) || copy(host->name, &cause->host) ||
           copy(sum->device, &cause->device);
}

/* Another metric of the same device; NULL: it is not known. */
static const struct cause_sum *beside(const struct cause_search *search, const struct cause_sum *sum,
                                      enum node_metric metric)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct cause_sum *other = &search->sums[i];
        if (!other->is_message && other->metric == metric && other->host == sum->host &&
            cause_same_device(other->device, sum->device))
            return other;
    }
    return NULL;
}

/* Whether the GPU was as busy while the fault showed as in the other steps; -1: not known. */
static int was_busy(const struct cause_search *search, const struct cause_sum *sum)
{
    const struct cause_sum *used = beside(search, sum, NODE_GPU_UTILIZATION);
    if (!used || used->faulty_ns <= 0 || used->other_ns <= 0)
        return -1;
    return used->faulty / used->faulty_ns >= BUSY_PART * used->other / used->other_ns;
}

/*
 * The clocks of a GPU that waits for its host may be lower for that reason; those of one that computes longer
 * are not lower because it is idle.
 */
static int is_effect(const struct cause_search *search, const struct finding *finding,
                     const struct cause_rule *rule, const struct cause_sum *sum)
{
    if (rule->side != CAUSE_LESS || rule->place != CAUSE_ON_GPU || !cause_is_slow_gpu(rule))
        return 0;
    return finding->kind == FINDING_HOST ? was_busy(search, sum) != 1 : was_busy(search, sum) == 0;
}

/* Whether another row tells more about this device, for most of the time. */
static int is_told_better(const struct cause_search *search, const struct cause_rule *rule,
                          const struct cause_sum *sum)
{
    const struct cause_sum *better = rule->unless ? beside(search, sum, rule->unless) : NULL;
    return better && better->faulty_ns >= sum->faulty_ns / 2;
}

static int explains(const struct cause_rule *rule, const struct cause_rule *effect)
{
    for (size_t i = 0; i < CAUSE_EXPLAINS && rule->explains[i]; i++)
        if (strcmp(rule->explains[i], effect->name) == 0)
            return 1;
    return 0;
}

/* Whether this may follow from something else that shows on the device, even if that was there before. */
static int is_explained(const struct cause_search *search, const struct cause_rule *effect,
                        const struct cause_sum *sum)
{
    for (size_t i = 0; i < cause_rule_count; i++) {
        const struct cause_rule *rule = &cause_rules[i];
        for (size_t k = 0; explains(rule, effect) && k < search->count; k++) {
            const struct cause_sum *other = &search->sums[k];
            struct cause cause;
            if (is_about(rule, other) && other->host == sum->host &&
                cause_same_device(other->device, sum->device) && !is_told_better(search, rule, other) &&
                (rule->is_statement ? stands_out(rule, value_in(search, rule, other, 1), 0)
                                    : compare(search, rule, other, (double)NAN, &cause)))
                return 1;
        }
    }
    return 0;
}

/* Adds the place where the cause is greatest. */
static int find_cause(const struct cause_search *search, const struct cause_rule *rule,
                      struct finding *finding, size_t *capacity)
{
    const struct cause_sum *best = NULL;
    struct cause greatest = {.strength = 0};
    double others;
    if (usual_of_others(search, rule, &others))
        return -1;
    for (size_t i = 0; i < search->count; i++) {
        struct cause cause = {.rule = rule};
        const struct cause_sum *sum = &search->sums[i];
        if (side_of(search, rule, sum) != CAUSE_OF_ACCUSED ||
            (rule->place == CAUSE_ON_NETWORK && !is_used(search, sum)) ||
            is_effect(search, finding, rule, sum) || is_told_better(search, rule, sum) ||
            is_explained(search, rule, sum) || !compare(search, rule, sum, others, &cause) ||
            cause.strength <= greatest.strength)
            continue;
        greatest = cause;
        best = sum;
    }
    if (!best)
        return 0;
    if (array_reserve((void **)&finding->causes, capacity, finding->cause_count + 1, sizeof *finding->causes))
        return -1;
    finding->causes[finding->cause_count] = greatest;
    return take_cause(search, rule, best, &finding->causes[finding->cause_count++]);
}

static int find_stack(const struct cause_search *search, const struct cause_rule *rule,
                      struct finding *finding, size_t *capacity)
{
    struct cause cause = {.rule = rule};
    int found = cause_stacks_find(&search->stacks, &search->places, &search->time, &cause);
    if (found && array_reserve((void **)&finding->causes, capacity, finding->cause_count + 1,
                               sizeof *finding->causes)) {
        cause_release(&cause);
        return -1;
    }
    if (found)
        finding->causes[finding->cause_count++] = cause;
    return found < 0 ? -1 : 0;
}

static int find_causes(const struct cause_search *search, struct finding *finding)
{
    size_t capacity = 0;
    for (size_t i = 0; i < cause_rule_count; i++)
        if (cause_rules[i].kinds >> finding->kind & 1 &&
            (cause_rules[i].side == CAUSE_STACK ? find_stack : find_cause)(search, &cause_rules[i], finding,
                                                                           &capacity))
            return -1;
    causes_choose(finding, &search->places);
    return 0;
}

/* ---- when it began ---- */

/* Marks the steps that overlap a time in which the cause shows. Times come in ascending order. */
static void mark_steps(struct cause_search *search, struct cause *cause, struct interval_ns during)
{
    const struct interval_ns *steps = search->time.steps;
    int32_t count = steps && cause->steps ? search->places.job->step_count : 0;
    while (search->step < count && steps[search->step].end_ns <= during.begin_ns)
        search->step++;
    for (int32_t step = search->step; step < count && steps[step].begin_ns < during.end_ns; step++)
        cause->steps[step] = steps[step].begin_ns != TIME_UNKNOWN;
}

/* Follows the series backwards in effect: the last time that it crossed the threshold before the fault ended.
 */
static int follow(void *context, const struct node_reading *reading)
{
    struct cause_search *search = context;
    struct cause *cause = search->wanted;
    const struct cause_rule *rule = cause->rule;
    double value = reading->value, length_ns = (double)(reading->during.end_ns - reading->during.begin_ns);
    if (reading->metric != rule->metric || reading->place != cause->place ||
        !cause_same_device(reading->device, cause->device) ||
        !fault_time_is_exact(&search->time, reading->error_ns))
        return 0;
    if (rule->side == CAUSE_MORE)
        value = length_ns > 0 ? value / length_ns * (double)search->time.faulty_ns : 0;
    if (rule->is_per_core)
        value /= (double)search->places.hosts.items[cause->at_host].cores;
    int is_beyond = rule->side == CAUSE_LESS ? value <= search->threshold : value >= search->threshold;
    if (reading->during.end_ns <= search->time.first_ns - search->time.onset_ns)
        search->was_before = is_beyond && value > 0;
    int is_over = search->begin_ns != TIME_UNKNOWN &&
                  intervals_covered_ns(search->time.faulty, search->time.faulty_count,
                                       (struct interval_ns){search->begin_ns, reading->during.begin_ns}) > 0;
    if (is_beyond && value > 0)
        mark_steps(search, cause, reading->during);
    if (!is_beyond && !is_over)
        search->begin_ns = TIME_UNKNOWN;
    else if (is_beyond && search->begin_ns == TIME_UNKNOWN && value > 0)
        search->begin_ns = reading->moment_ns == TIME_UNKNOWN ? reading->during.begin_ns : reading->moment_ns;
    return 0;
}

static int has_steps_before(const struct fault_time *time)
{
    return time->other_count > 0 && time->others[0].begin_ns < time->first_ns;
}

static int find_begin(struct cause_search *search, struct cause *cause, struct error *error)
{
    if (search->time.steps &&
        !(cause->steps = array_new((size_t)search->places.job->step_count + 1, sizeof *cause->steps)))
        return error_no_memory(error);
    search->step = 0;
    if (cause->rule->side == CAUSE_MESSAGE || cause->rule->side == CAUSE_STACK) {
        mark_steps(search, cause, (struct interval_ns){cause->begin_ns, cause->begin_ns + 1});
        return 0;
    }
    double usual = isnan(cause->usual) ? 0 : cause->usual;
    search->wanted = cause;
    search->threshold = (cause->value + usual) / 2;
    search->begin_ns = TIME_UNKNOWN;
    search->was_before = 0;
    int failed = node_samples_read(&search->places.hosts.items[cause->at_host], search->places.job->store,
                                   search->time.whole, follow, search, error);
    cause->begin_ns = search->begin_ns != TIME_UNKNOWN ? search->begin_ns : search->time.first_ns;
    cause->was_before = cause->is_not_compared && search->was_before && has_steps_before(&search->time);
    return failed;
}

static int word(struct cause_search *search, struct cause *cause)
{
    struct buffer place = BUFFER_INIT;
    const char *device = cause->rule->place == CAUSE_ON_HOST ? NULL : cause->device;
    int failed = cause_place_append(&search->places, cause->at_host, cause->place, device, &place) ||
                 cause_word(cause, place.data, search->places.hosts.items[cause->at_host].cores,
                            search->time.first_ns, search->time.is_stop);
    buffer_release(&place);
    return failed ? -1 : 0;
}

/*
 * Says that the samples of the places at fault end before the fault begins: those of its GPU if the GPU is
 * what is slow, else all of its host.
 */
static int note_end(const struct cause_search *search, struct finding *finding)
{
    int is_gpu = finding->kind == FINDING_COMPUTE;
    const struct cause_sum *last = NULL;
    for (size_t i = 0; i < search->count && !finding->cause_count; i++) {
        const struct cause_sum *sum = &search->sums[i];
        if (sum->end_ns != TIME_UNKNOWN && (!last || sum->end_ns > last->end_ns) &&
            (is_gpu ? cause_side(&search->places, sum->host, CAUSE_ON_GPU, sum->place, sum->device) ==
                          CAUSE_OF_ACCUSED
                    : cause_host_is_blamed(&search->places, sum->host)))
            last = sum;
    }
    return last ? cause_word_end(finding, &search->places, last->host, is_gpu ? last->device : NULL,
                                 search->time.first_ns - last->end_ns, search->time.is_stop)
                : 0;
}

int cause_search_take(struct cause_search *search, struct finding *finding, struct error *error)
{
    if (find_causes(search, finding))
        return error_no_memory(error);
    for (size_t i = 0; i < finding->cause_count; i++)
        if (find_begin(search, &finding->causes[i], error) ||
            cause_find_who(&finding->causes[i], &search->places.hosts.items[finding->causes[i].at_host],
                           search->places.job->store, search->time.whole, error))
            return -1;
    causes_drop_earlier(finding);
    for (size_t i = 0; i < finding->cause_count; i++)
        if (word(search, &finding->causes[i]))
            return error_no_memory(error);
    return 0;
}

static int explain(struct cause_search *search, struct finding *finding, int32_t first_step,
                   struct error *error)
{
    if (fault_time_measure(&search->time, &search->places, finding, first_step, error))
        return -1;
    if (!search->time.faulty_count)
        return 0;
    cause_accuse(&search->places, finding);
    if (cause_search_sum(search, finding, error) || cause_search_take(search, finding, error))
        return -1;
    causes_apply(finding, search->places.job);
    return note_end(search, finding) ? error_no_memory(error) : 0;
}

int findings_take_causes(struct findings *findings, const struct job *job, int32_t first_step,
                         struct error *error)
{
    struct cause_search search = {.time = {.first_ns = TIME_UNKNOWN}};
    int failed = findings->count ? cause_places_init(&search.places, job, error) : 0;
    for (size_t i = 0; !failed && search.places.host_count && i < findings->count; i++) {
        failed = explain(&search, &findings->items[i], first_step, error);
        cause_search_forget(&search);
    }
    free(search.sums);
    cause_places_release(&search.places);
    return failed ? -1 : 0;
}
