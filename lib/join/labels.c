#include "join/labels.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

/* What ranks and communicators are called. */

static int name_rank(struct work *work, struct work_rank *rank)
{
    struct buffer text = BUFFER_INIT;
    int failed;
    if (rank->global_rank >= 0) {
        failed = buffer_printf(&text, "%lld", (long long)rank->global_rank);
    } else {
        const struct work_process *process = &work->processes[rank->process];
        failed = buffer_printf(&text, "%s:%lld", process->host[0] ? process->host : "process",
                               (long long)process->pid);
    }
    if (failed)
        buffer_release(&text);
    rank->name = buffer_detach(&text);
    return rank->name ? 0 : -1;
}

/* "0-3,7" */
static int write_numbers(struct buffer *text, int64_t *numbers, size_t count)
{
    sort_integers(numbers, count);
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        if (i && buffer_append_byte(text, ','))
            return -1;
        if (buffer_printf(text, last > i ? "%lld-%lld" : "%lld", (long long)numbers[i],
                          (long long)numbers[last]))
            return -1;
        i = last + 1;
    }
    return 0;
}

static int label_by_ranks(const struct work *work, struct buffer *text, const int32_t *members, size_t count)
{
    int64_t *numbers = array_new(count, sizeof *numbers);
    if (!numbers)
        return -1;
    int global = 1;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = work->ranks[work->members[members[i]].job_rank].global_rank;
        global &= numbers[i] >= 0;
    }
    int failed;
    if (global && count) {
        failed = write_numbers(text, numbers, count);
    } else {
        const struct work_communicator *communicator =
            &work->communicators[count ? work->members[members[0]].communicator : 0];
        failed = buffer_printf(text, "%llx", (unsigned long long)communicator->hash);
    }
    free(numbers);
    return failed;
}

/* A label already given in the same run gets "#2", "#3" ... after it; times[] counts by number in `seen`. */
static int make_unique(struct intern *seen, int *times, int32_t run, struct buffer *text)
{
    struct buffer key = BUFFER_INIT;
    int64_t number = -1;
    if (!buffer_printf(&key, "%d %s", run, text->data))
        number = intern_put(seen, key.data, key.length);
    buffer_release(&key);
    if (number < 0)
        return -1;
    return ++times[number] > 1 ? buffer_printf(text, "#%d", times[number]) : 0;
}

static int label_communicator(struct work *work, size_t at, struct intern *seen, int *times)
{
    struct work_communicator *communicator = &work->communicators[at];
    const int32_t *members = work->by_communicator.items + work->by_communicator.first[at];
    struct buffer text = BUFFER_INIT;
    int failed;
    if (communicator->name && strcmp(communicator->name, "unknown") != 0 && communicator->name[0])
        failed = buffer_append_text(&text, communicator->name);
    else
        failed = label_by_ranks(work, &text, members, (size_t)communicator->member_count);
    failed = failed || make_unique(seen, times, communicator->run, &text);
    communicator->label = buffer_detach(&text);
    return failed || !communicator->label;
}

/* A communicator and what it is found by: of its members the first by host, process and rank. */
struct labelled {
    uint64_t hash;
    size_t communicator;
    const struct work_process *process; /* NULL: it has no members */
    int64_t rank;
    const char *path;
};

static int compare_numbers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int compare_processes(const struct work_process *left, const struct work_process *right)
{
    if (!left || !right)
        return (left != NULL) - (right != NULL);
    int order = strcmp(left->host, right->host);
    order = order ? order : compare_numbers(left->pid, right->pid);
    return order ? order : strcmp(left->file_set, right->file_set);
}

static int by_hash(const void *a, const void *b)
{
    const struct labelled *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    int order = compare_processes(left->process, right->process);
    order = order ? order : compare_numbers(left->rank, right->rank);
    order = order ? order : strcmp(left->path, right->path);
    return order ? order : compare_numbers((int64_t)left->communicator, (int64_t)right->communicator);
}

static struct labelled find_by(const struct work *work, size_t at)
{
    const struct work_communicator *communicator = &work->communicators[at];
    struct labelled label = {(uint64_t)communicator->hash, at, NULL, 0,
                             communicator->path ? communicator->path : ""};
    for (size_t i = work->by_communicator.first[at]; i < work->by_communicator.first[at + 1]; i++) {
        const struct work_member *member = &work->members[work->by_communicator.items[i]];
        const struct work_process *process = &work->processes[member->process];
        int order = label.process ? compare_processes(process, label.process) : -1;
        if (order < 0 || (order == 0 && member->rank < label.rank)) {
            label.process = process;
            label.rank = member->rank;
        }
    }
    return label;
}

/*
 * In the order of hashes; where these are not known, of who is in it, and at last of files: who of two with
 * the same ranks is the first must not hang on the order of reading.
 */
static struct labelled *label_order(const struct work *work)
{
    struct labelled *order = array_new(work->communicator_count, sizeof *order);
    for (size_t i = 0; order && i < work->communicator_count; i++)
        order[i] = find_by(work, i);
    if (order)
        array_sort(order, work->communicator_count, sizeof *order, by_hash);
    return order;
}

static int label_communicators(struct work *work, struct error *error)
{
    struct labelled *order = label_order(work);
    int *times = array_new(work->communicator_count, sizeof *times);
    struct intern seen;
    intern_init(&seen);
    int failed = !order || !times;
    for (size_t i = 0; !failed && i < work->communicator_count; i++)
        failed = label_communicator(work, order[i].communicator, &seen, times);
    intern_release(&seen);
    free(times);
    free(order);
    return failed ? error_no_memory(error) : 0;
}

int work_label(struct work *work, struct error *error)
{
    for (size_t i = 0; i < work->rank_count; i++)
        if (name_rank(work, &work->ranks[i]))
            return error_no_memory(error);
    return label_communicators(work, error);
}
