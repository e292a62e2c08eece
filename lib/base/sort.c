#include "base/sort.h"

#include "base/array.h"

/* Quicksort, insertion sort where few are left, and heapsort where the middles chosen were bad ones. */

enum { FEW = 24 };

static void sort_few(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

static void sink(int64_t *values, size_t at, size_t count)
{
    int64_t value = values[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[child] <= value)
            break;
        values[at] = values[child];
    }
    values[at] = value;
}

static void sort_heap(int64_t *values, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(values, i, count);
    for (size_t end = count; end-- > 1;) {
        int64_t greatest = values[0];
        values[0] = values[end];
        values[end] = greatest;
        sink(values, 0, end);
    }
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
    if (a > b) {
        int64_t greater = a;
        a = b;
        b = greater;
    }
    return c <= a ? a : c >= b ? b : c;
}

/* Puts what is less than a middle value before what is greater. Returns how many come first: neither none nor
 * all. */
static size_t divide(int64_t *values, size_t count)
{
    int64_t middle = middle_of(values[0], values[count / 2], values[count - 1]);
    size_t low = 0, high = count - 1;
    for (;; low++, high--) {
        while (values[low] < middle)
            low++;
        while (values[high] > middle)
            high--;
        if (low >= high)
            return high + 1 < count ? high + 1 : high;
        int64_t greater = values[low];
        values[low] = values[high];
        values[high] = greater;
    }
}

/* `depth`: how often it may still be divided. The greater part is done in the loop, so that calls nest log n
 * deep. */
static void sort_part(int64_t *values, size_t count, int depth)
{
    for (; count > FEW; depth--) {
        if (!depth) {
            sort_heap(values, count);
            return;
        }
        size_t first = divide(values, count);
        if (first < count - first) {
            sort_part(values, first, depth - 1);
            values += first;
            count -= first;
        } else {
            sort_part(values + first, count - first, depth - 1);
            count = first;
        }
    }
    sort_few(values, count);
}

/* How often `count` values may be divided before that is taken for bad luck. */
static int allowed_depth(size_t count)
{
    int depth = 2;
    for (; count > 1; count /= 2)
        depth += 2;
    return depth;
}

int64_t select_integer(int64_t *values, size_t count, size_t rank)
{
    for (int depth = count > FEW ? allowed_depth(count) : 0; count > FEW && depth > 0; depth--) {
        size_t first = divide(values, count);
        if (rank < first) {
            count = first;
            continue;
        }
        values += first;
        count -= first;
        rank -= first;
    }
    sort_integers(values, count);
    return values[rank];
}

void sort_integers(int64_t *values, size_t count)
{
    size_t sorted = 1;
    if (count <= FEW) {
        sort_few(values, count);
        return;
    }
    while (sorted < count && values[sorted - 1] <= values[sorted])
        sorted++;
    if (sorted >= count)
        return;
    sort_part(values, count, allowed_depth(count));
}

int64_t usual_integer(const int64_t *sorted, size_t count)
{
    size_t most = 0, alike = 0;
    int64_t usual = 0;
    for (size_t i = 0; i < count; i++) {
        alike = i && sorted[i] == sorted[i - 1] ? alike + 1 : 1;
        if (alike > most) {
            most = alike;
            usual = sorted[i];
        }
    }
    return usual;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void sort_reals(double *values, size_t count)
{
    array_sort(values, count, sizeof *values, by_size);
}
