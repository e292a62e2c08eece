#include "baseline/received.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* From the middle of a rank to one of its values. */
struct received_slope {
    double slope; /* ns a byte */
    double weight;
};

int received_init(struct received *received, size_t ranks, size_t steps)
{
    *received = (struct received){.bytes = array_new(ranks * steps, sizeof *received->bytes),
                                  .list = array_new(ranks * steps, sizeof *received->list),
                                  .usual_bytes = array_new(ranks, sizeof *received->usual_bytes),
                                  .usual_value = array_new(ranks, sizeof *received->usual_value),
                                  .slopes = array_new(ranks * steps, sizeof *received->slopes)};
    return received->bytes && received->list && received->usual_bytes && received->usual_value &&
                   received->slopes
               ? 0
               : -1;
}

void received_release(struct received *received)
{
    free(received->bytes);
    free(received->list);
    free(received->usual_bytes);
    free(received->usual_value);
    free(received->slopes);
}

int64_t received_before(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return -1;
    const struct job_operation *before = &job->operations[operation->previous];
    if (!function_is_point_to_point(before->function))
        return before->bytes;
    int64_t bytes = 0;
    for (size_t at = (size_t)before->group;
         at < job->operation_count && job->operations[at].group == before->group; at++) {
        const struct job_operation *member = &job->operations[at];
        if (member->bytes < 0 || member->bytes > INT64_MAX - bytes)
            return -1;
        bytes += member->function == FUNCTION_RECV ? member->bytes : 0;
    }
    return bytes;
}

struct values {
    const struct received *received;
    const int64_t *value;
    size_t ranks;
    size_t first_step;
    size_t steps;
};

/* Whether a value and the bytes before it are known. */
static int is_known(const struct values *values, size_t cell)
{
    return cell % values->steps >= values->first_step && values->value[cell] != TIME_UNKNOWN &&
           values->received->bytes[cell] >= 0;
}

/* The median of values or bytes over known cells from `first` to before `end`. */
static int64_t middle_of(const struct values *values, const int64_t *of, size_t first, size_t end)
{
    size_t count = 0;
    for (size_t cell = first; cell < end; cell++)
        if (is_known(values, cell))
            values->received->list[count++] = of[cell];
    return median_of(values->received->list, count);
}

static int by_slope(const void *a, const void *b)
{
    const struct received_slope *left = a, *right = b;
    return (left->slope > right->slope) - (left->slope < right->slope);
}

/* Those of values with other bytes than their rank's usual; returns how many. */
static size_t list_slopes(const struct values *values)
{
    const struct received *received = values->received;
    size_t count = 0;
    for (size_t cell = 0; cell < values->ranks * values->steps; cell++) {
        size_t rank = cell / values->steps;
        if (!is_known(values, cell) || received->bytes[cell] == received->usual_bytes[rank])
            continue;
        double more_bytes = (double)received->bytes[cell] - (double)received->usual_bytes[rank];
        double more = (double)values->value[cell] - (double)received->usual_value[rank];
        received->slopes[count++] = (struct received_slope){more / more_bytes, fabs(more_bytes)};
    }
    return count;
}

static double weighted_median(struct received_slope *slopes, size_t count)
{
    double all = 0, below = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        all += slopes[i].weight;
    array_sort(slopes, count, sizeof *slopes, by_slope);
    while (at + 1 < count && (below += slopes[at].weight) < all / 2)
        at++;
    return slopes[at].slope;
}

void received_explain(struct received *received, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps)
{
    struct values values = {received, value, ranks, (size_t)first_step, (size_t)steps};
    size_t cells = ranks * values.steps;
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t first = rank * values.steps;
        received->usual_bytes[rank] = middle_of(&values, received->bytes, first, first + values.steps);
        received->usual_value[rank] = middle_of(&values, value, first, first + values.steps);
    }
    size_t count = list_slopes(&values);
    int64_t bytes = middle_of(&values, received->bytes, 0, cells), time = middle_of(&values, value, 0, cells);
    if (!count || bytes <= 0 || time <= 0)
        return;
    double slope = weighted_median(received->slopes, count), most = (double)time / (double)bytes;
    slope = slope < most ? slope : most;
    for (size_t cell = 0; slope > 0 && cell < cells; cell++)
        if (is_known(&values, cell))
            value[cell] -= scale(received->bytes[cell] - bytes, slope);
}
