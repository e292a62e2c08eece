#include "verdict/usual_steps.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/statistics.h"
#include "job/step_index.h"

#include <math.h>
#include <stdlib.h>

/* Loads are alike within this part: what a step's last records may lack, and less than any batch grows by. */
static const double ALIKE = 0.1;

/* Of fewer steps none can be called the usual one. */
enum { STEPS_OF_LOAD = 4 };

/* More loads than so many are no programme that recurs: steps beyond them are not compared. */
enum { LOADS = 64 };

/* Recorders lose one here and there: where it is more than one in so many, no count tells a step's load. */
enum { FEW_LOST = 50 };

/* What the first step of a load amounts to: the others are held against it. */
struct load {
    double operations;
    double bytes;
    int32_t steps;
};

static int are_alike(double a, double b)
{
    return fabs(a - b) <= ALIKE * fmax(a, b);
}

static void measure_load(const struct job *job, int32_t step, struct load *load)
{
    struct job_range range = job_instances_in(job, step, step);
    *load = (struct load){.operations = (double)(range.end - range.first)};
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        if (instance->members > 0 && job_member(job, instance, 0)->bytes > 0)
            load->bytes += (double)job_member(job, instance, 0)->bytes;
    }
}

/* -1: of none. */
static int32_t find_load(struct load *loads, int32_t *count, const struct load *load)
{
    int32_t at = 0;
    while (at < *count &&
           !(are_alike(loads[at].operations, load->operations) && are_alike(loads[at].bytes, load->bytes)))
        at++;
    if (at == LOADS)
        return -1;
    if (at == *count)
        loads[(*count)++] = (struct load){load->operations, load->bytes, 0};
    loads[at].steps++;
    return at;
}

/*
 * Steps in which a communicator or a function is used for the first time, and those just before them, which
 * last until then: the start-up of that.
 */
static int mark_first_uses(const struct job *job, unsigned char *marked)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    unsigned char *seen = array_new(places, 1);
    for (int32_t step = 0; seen && step < job->step_count; step++) {
        struct job_range range = job_instances_in(job, step, step);
        for (size_t i = range.first; i < range.end; i++) {
            const struct job_instance *instance = &job->instances[job->by_step[i]];
            size_t function = instance->function < FUNCTION_COUNT ? instance->function : FUNCTION_OTHER;
            size_t place = (size_t)instance->communicator * FUNCTION_COUNT + function;
            if (seen[place])
                continue;
            seen[place] = 1;
            marked[step] = 1;
            marked[step ? step - 1 : 0] = 1;
        }
    }
    free(seen);
    return seen ? 0 : -1;
}

/* The lengths of the steps of a load, in order. */
static size_t lengths_of(const struct usual_steps *usual, const struct baseline *baseline, int32_t load,
                         int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (usual->load[step] == load && baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    return count;
}

/*
 * By how much lengths differ from one step to the next: a fault that lasts makes two of those differences,
 * however many steps it fills. A difference of two varies by the root of two as much as each.
 */
static int64_t noise_of(int64_t *lengths, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        lengths[i] -= lengths[i + 1];
    return count > 1 ? scale(sigma_about(lengths, count - 1, 0), 1 / sqrt(2)) : 0;
}

static void measure_usual(struct usual_steps *usual, const struct baseline *baseline, int32_t load,
                          int64_t *list)
{
    size_t count = lengths_of(usual, baseline, load, list);
    if (count < STEPS_OF_LOAD)
        return;
    int64_t noise_ns = noise_of(list, count);
    lengths_of(usual, baseline, load, list);
    int64_t quiet_ns = quiet_of(list, count);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (usual->load[step] == load) {
            usual->usual_ns[step] = quiet_ns;
            usual->noise_ns[step] = noise_ns;
        }
}

static int find_loads(struct usual_steps *usual, const struct job *job, const struct baseline *baseline)
{
    struct load loads[LOADS] = {{0}};
    unsigned char *first_uses = array_new((size_t)job->step_count, 1);
    int counts = job->missing_sequence <= (int64_t)(job->operation_count / FEW_LOST);
    if (!first_uses || mark_first_uses(job, first_uses)) {
        free(first_uses);
        return -1;
    }
    for (int32_t step = 0; step < baseline->step_count; step++) {
        struct load load;
        measure_load(job, step, &load);
        usual->bytes[step] = scale(1, load.bytes);
        if (!counts)
            load = (struct load){0};
        usual->load[step] = step < baseline->started_step || first_uses[step]
                                ? -1
                                : find_load(loads, &usual->load_count, &load);
    }
    free(first_uses);
    return 0;
}

int usual_steps_init(struct usual_steps *usual, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *list = array_new(steps, sizeof *list);
    *usual = (struct usual_steps){.usual_ns = array_new(steps, sizeof *usual->usual_ns),
                                  .noise_ns = array_new(steps, sizeof *usual->noise_ns),
                                  .load = array_new(steps, sizeof *usual->load),
                                  .bytes = array_new(steps, sizeof *usual->bytes)};
    int failed = !list || !usual->usual_ns || !usual->noise_ns || !usual->load || !usual->bytes ||
                 find_loads(usual, job, baseline);
    for (size_t step = 0; !failed && step < steps; step++)
        usual->usual_ns[step] = TIME_UNKNOWN;
    for (int32_t load = 0; !failed && load < usual->load_count; load++)
        measure_usual(usual, baseline, load, list);
    free(list);
    return failed ? -1 : 0;
}

void usual_steps_release(struct usual_steps *usual)
{
    free(usual->usual_ns);
    free(usual->noise_ns);
    free(usual->load);
    free(usual->bytes);
    *usual = (struct usual_steps){0};
}
