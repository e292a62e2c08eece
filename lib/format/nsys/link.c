#include "format/nsys/link.h"

#include "base/array.h"

static int compare(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int by_thread(const void *a, const void *b)
{
    const struct nsys_call *left = a, *right = b;
    int order = compare(left->thread, right->thread);
    order = order ? order : compare(left->api.begin_ns, right->api.begin_ns);
    return order ? order : compare((int64_t)left->row, (int64_t)right->row);
}

static int by_process(const void *a, const void *b)
{
    const struct nsys_call *left = a, *right = b;
    int order = compare(nsys_process_of(left->thread), nsys_process_of(right->thread));
    order = order ? order : compare(left->api.begin_ns, right->api.begin_ns);
    return order ? order : compare((int64_t)left->row, (int64_t)right->row);
}

static int by_launch(const void *a, const void *b)
{
    const struct nsys_kernel *left = a, *right = b;
    int order = compare(left->thread, right->thread);
    order = order ? order : compare(left->launch.begin_ns, right->launch.begin_ns);
    return order ? order : compare(left->device.begin_ns, right->device.begin_ns);
}

/* Calls first to past - 1 have not got a kernel yet. */
struct waiting {
    size_t first;
    size_t past;
};

static void attach(struct nsys_profile *profile, size_t first, size_t past, int64_t kernel)
{
    for (size_t i = first; i < past; i++) {
        if (profile->calls[i].first_kernel < 0)
            profile->calls[i].first_kernel = kernel;
        profile->calls[i].last_kernel = kernel;
    }
}

static int are_of_one_communicator(const struct nsys_profile *profile, size_t first, size_t past)
{
    for (size_t i = first + 1; i < past; i++)
        if (profile->calls[i].communicator_hash != profile->calls[first].communicator_hash)
            return 0;
    return 1;
}

static int holds_launch(const struct nsys_call *call, int64_t launched_ns)
{
    return call->api.begin_ns <= launched_ns && call->api.end_ns >= launched_ns;
}

/* One launch: 1 when the kernel is of no call. */
static int take_launch(struct nsys_profile *profile, struct waiting *waiting, size_t kernel)
{
    const struct nsys_kernel *of = &profile->kernels[kernel];
    while (waiting->past < profile->call_count && profile->calls[waiting->past].thread == of->thread &&
           profile->calls[waiting->past].api.begin_ns <= of->launch.begin_ns)
        waiting->past++;
    size_t first = waiting->first, past = waiting->past;
    if (past > first && holds_launch(&profile->calls[past - 1], of->launch.begin_ns))
        first = past - 1;
    /* A call may launch several. */
    if (past == first && past > 0 && profile->calls[past - 1].thread == of->thread &&
        profile->calls[past - 1].first_kernel >= 0 &&
        holds_launch(&profile->calls[past - 1], of->launch.begin_ns))
        first = past - 1;
    waiting->first = past;
    if (first == past || !are_of_one_communicator(profile, first, past))
        return 1;
    attach(profile, first, past, (int64_t)kernel);
    return 0;
}

void nsys_link(struct nsys_profile *profile, int64_t *loose)
{
    struct waiting waiting = {0, 0};
    int64_t thread = -1;
    *loose = 0;
    array_sort(profile->calls, profile->call_count, sizeof *profile->calls, by_thread);
    array_sort(profile->kernels, profile->kernel_count, sizeof *profile->kernels, by_launch);
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct nsys_kernel *kernel = &profile->kernels[i];
        if (kernel->thread < 0) {
            ++*loose;
            continue;
        }
        if (kernel->thread != thread) {
            thread = kernel->thread;
            while (waiting.past < profile->call_count && profile->calls[waiting.past].thread < thread)
                waiting.past++;
            waiting.first = waiting.past;
        }
        *loose += take_launch(profile, &waiting, i);
    }
    array_sort(profile->calls, profile->call_count, sizeof *profile->calls, by_process);
}
