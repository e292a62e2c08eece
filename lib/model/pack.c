/*
 * Packs the kernel channels, network steps and proxy states of an operation into the blobs that the store
 * keeps, and unpacks them.
 */

#include "base/base.h"
#include "model/event.h"
#include "model/internal.h"
#include "model/model.h"

/* The first number of each blob: its form. */
enum { FORM_CHANNELS = 1, FORM_STEPS = 2, FORM_STEPS_RECEIVE = 3, FORM_STATES = 4, FORM_ORIGIN = 5 };

/* Bits of a channel's flag byte. */
enum {
    CHANNEL_NEXT = 1, /* its number is the previous one plus one */
    CHANNEL_HOST_BEGIN = 2,
    CHANNEL_HOST_END = 4,
    CHANNEL_GPU_BEGIN = 8,
    CHANNEL_GPU_END = 16,
};

/* Bits of a step's flag byte; the lower bits are the waits that it has. */
enum {
    STEP_WAITS = (1 << WAIT_KINDS) - 1,
    STEP_NEXT = 1 << 5,       /* its number is the previous one plus one */
    STEP_CONTIGUOUS = 1 << 6, /* each wait begins where the previous one ended: no gaps are stored */
    STEP_PARTIAL = 1 << 7, /* followed by a number with two bits for each wait kind: begin known, end known */
};

/* The order of a step's waits in time. */
static const enum wait_kind wait_order[2][WAIT_KINDS] = {
    {WAIT_BUFFER, WAIT_GPU, WAIT_PEER, WAIT_NETWORK, WAIT_FLUSH},
    {WAIT_BUFFER, WAIT_NETWORK, WAIT_FLUSH, WAIT_GPU, WAIT_PEER},
};

/* Differences wrap around, so they are exact for any two values. */
static int64_t add(int64_t base, int64_t difference)
{
    return (int64_t)((uint64_t)base + (uint64_t)difference);
}

static int64_t subtract(int64_t value, int64_t base)
{
    return (int64_t)((uint64_t)value - (uint64_t)base);
}

static int get_byte(struct unpack *unpack, unsigned *byte)
{
    if (unpack->at == unpack->end)
        return -1;
    *byte = *unpack->at++;
    return 0;
}

/* Reads form and count. Each item takes at least one byte, which limits a hostile count. */
static int unpack_start(struct unpack *unpack, const void *blob, size_t length, uint64_t *form)
{
    *unpack = (struct unpack){.at = blob, .end = (const unsigned char *)blob + length, .number = -1};
    if (length == 0)
        return -1;
    if (varint_get(&unpack->at, unpack->end, form) || varint_get(&unpack->at, unpack->end, &unpack->left))
        return -1;
    return unpack->left > (uint64_t)(unpack->end - unpack->at) ? -1 : 0;
}

static unsigned channel_flags(const struct kernel_channel *channel, int64_t previous)
{
    return (channel->channel == previous + 1 ? CHANNEL_NEXT : 0U) |
           (channel->host.begin_ns != TIME_UNKNOWN ? CHANNEL_HOST_BEGIN : 0U) |
           (channel->host.end_ns != TIME_UNKNOWN ? CHANNEL_HOST_END : 0U) |
           (channel->gpu_begin ? CHANNEL_GPU_BEGIN : 0U) | (channel->gpu_end ? CHANNEL_GPU_END : 0U);
}

static int put_time(struct buffer *buffer, int64_t time_ns, int64_t *base_ns)
{
    int status = varint_put_signed(buffer, subtract(time_ns, *base_ns));
    *base_ns = time_ns;
    return status;
}

static char *write_time(char *at, int64_t time_ns, int64_t *base_ns)
{
    at = varint_write_signed(at, subtract(time_ns, *base_ns));
    *base_ns = time_ns;
    return at;
}

static char *write_gpu(char *at, uint64_t value, uint64_t *base)
{
    at = varint_write_signed(at, (int64_t)(value - *base));
    *base = value;
    return at;
}

static char *write_channel(char *at, const struct kernel_channel *channel, int64_t previous, int64_t *base_ns,
                           uint64_t *gpu_base)
{
    unsigned flags = channel_flags(channel, previous);
    *at++ = (char)flags;
    if (!(flags & CHANNEL_NEXT))
        at = varint_write_signed(at, channel->channel);
    if (flags & CHANNEL_HOST_BEGIN)
        at = write_time(at, channel->host.begin_ns, base_ns);
    if (flags & CHANNEL_HOST_END)
        at = write_time(at, channel->host.end_ns, base_ns);
    if (flags & CHANNEL_GPU_BEGIN)
        at = write_gpu(at, channel->gpu_begin, gpu_base);
    if (flags & CHANNEL_GPU_END)
        at = write_gpu(at, channel->gpu_end, gpu_base);
    return at;
}

int pack_channels(struct buffer *buffer, int64_t base_ns, uint64_t gpu_base,
                  const struct kernel_channel *channels, size_t count)
{
    /* Flags, number and times. */
    enum { CHANNEL_MOST_BYTES = 1 + 5 * VARINT_BYTES };
    int64_t previous = -1;
    if (buffer_reserve(buffer, 2 * VARINT_BYTES + count * CHANNEL_MOST_BYTES))
        return -1;
    char *at = varint_write(buffer->data + buffer->length, FORM_CHANNELS);
    at = varint_write(at, count);
    for (size_t i = 0; i < count; i++) {
        at = write_channel(at, &channels[i], previous, &base_ns, &gpu_base);
        previous = channels[i].channel;
    }
    *at = '\0';
    buffer->length = (size_t)(at - buffer->data);
    return 0;
}

int unpack_channels(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns,
                    uint64_t gpu_base)
{
    uint64_t form;
    if (unpack_start(unpack, blob, length, &form) || form != FORM_CHANNELS)
        return -1;
    unpack->time_ns = base_ns;
    unpack->gpu = gpu_base;
    return 0;
}

static int get_time(struct unpack *unpack, int64_t *time_ns)
{
    int64_t difference;
    if (varint_get_signed(&unpack->at, unpack->end, &difference))
        return -1;
    *time_ns = unpack->time_ns = add(unpack->time_ns, difference);
    return 0;
}

static int get_gpu(struct unpack *unpack, uint64_t *value)
{
    int64_t difference;
    if (varint_get_signed(&unpack->at, unpack->end, &difference))
        return -1;
    *value = unpack->gpu += (uint64_t)difference;
    return 0;
}

static int get_channel_number(struct unpack *unpack, unsigned flags, int32_t *number)
{
    int64_t value = unpack->number + 1;
    if (!(flags & CHANNEL_NEXT) && varint_get_signed(&unpack->at, unpack->end, &value))
        return -1;
    if (value < INT32_MIN || value > INT32_MAX)
        return -1;
    unpack->number = value;
    *number = (int32_t)value;
    return 0;
}

int unpack_next_channel(struct unpack *unpack, struct kernel_channel *channel)
{
    unsigned flags;
    if (unpack->left == 0)
        return 0;
    *channel = (struct kernel_channel){.host = {TIME_UNKNOWN, TIME_UNKNOWN}};
    if (get_byte(unpack, &flags) || get_channel_number(unpack, flags, &channel->channel))
        return -1;
    if (flags & CHANNEL_HOST_BEGIN && get_time(unpack, &channel->host.begin_ns))
        return -1;
    if (flags & CHANNEL_HOST_END && get_time(unpack, &channel->host.end_ns))
        return -1;
    if (flags & CHANNEL_GPU_BEGIN && get_gpu(unpack, &channel->gpu_begin))
        return -1;
    if (flags & CHANNEL_GPU_END && get_gpu(unpack, &channel->gpu_end))
        return -1;
    unpack->left--;
    return 1;
}

/* All steps of a blob use one order; the first step that shows it decides. */
static int is_receive_order(const struct proxy_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t network = steps[i].wait[WAIT_NETWORK].begin_ns;
        int64_t gpu = steps[i].wait[WAIT_GPU].begin_ns;
        if (steps[i].wait[WAIT_FLUSH].begin_ns != TIME_UNKNOWN)
            return 1;
        if (network != TIME_UNKNOWN && gpu != TIME_UNKNOWN && network != gpu)
            return network < gpu;
    }
    return 0;
}

/* Two bits for each wait kind: begin known, end known. */
static unsigned known_ends(const struct proxy_step *step)
{
    unsigned known = 0;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++) {
        if (step->wait[kind].begin_ns != TIME_UNKNOWN)
            known |= 1U << 2 * kind;
        if (step->wait[kind].end_ns != TIME_UNKNOWN)
            known |= 2U << 2 * kind;
    }
    return known;
}

static unsigned step_flags(const struct proxy_step *step, int64_t previous, unsigned known,
                           const enum wait_kind *order)
{
    unsigned flags = STEP_CONTIGUOUS | (step->step == add(previous, 1) ? STEP_NEXT : 0U);
    const struct interval_ns *before = NULL;
    for (unsigned i = 0; i < WAIT_KINDS; i++) {
        const struct interval_ns *wait = &step->wait[order[i]];
        unsigned ends = known >> 2 * order[i] & 3;
        if (!ends)
            continue;
        flags |= 1U << order[i] | (ends != 3 ? STEP_PARTIAL : 0U);
        if (before && before->end_ns != wait->begin_ns)
            flags &= ~(unsigned)STEP_CONTIGUOUS;
        before = wait;
    }
    return flags & STEP_PARTIAL ? flags & ~(unsigned)STEP_CONTIGUOUS : flags;
}

static char *write_waits(char *at, const struct proxy_step *step, unsigned flags, unsigned known,
                         const enum wait_kind *order, int64_t *base_ns)
{
    int with_begin = 1;
    for (unsigned i = 0; i < WAIT_KINDS; i++) {
        const struct interval_ns *wait = &step->wait[order[i]];
        unsigned ends = known >> 2 * order[i] & 3;
        if (!ends)
            continue;
        if (ends & 1 && with_begin)
            at = write_time(at, wait->begin_ns, base_ns);
        if (ends & 2)
            at = write_time(at, wait->end_ns, base_ns);
        with_begin = !(flags & STEP_CONTIGUOUS);
    }
    return at;
}

static char *write_step(char *at, const struct proxy_step *step, int64_t previous,
                        const enum wait_kind *order, int64_t *base_ns)
{
    unsigned known = known_ends(step);
    unsigned flags = step_flags(step, previous, known, order);
    *at++ = (char)flags;
    if (!(flags & STEP_NEXT))
        at = varint_write_signed(at, step->step);
    if (flags & STEP_PARTIAL)
        at = varint_write(at, known);
    return write_waits(at, step, flags, known, order, base_ns);
}

int pack_steps(struct buffer *buffer, int64_t base_ns, const struct proxy_step *steps, size_t count)
{
    /* Flags, number, known ends and times. */
    enum { STEP_MOST_BYTES = 1 + VARINT_BYTES * (2 + 2 * WAIT_KINDS) };
    int receive = is_receive_order(steps, count);
    int64_t previous = -1;
    int status = varint_put(buffer, receive ? FORM_STEPS_RECEIVE : FORM_STEPS) || varint_put(buffer, count);
    for (size_t i = 0; i < count && !status; i++) {
        char bytes[STEP_MOST_BYTES];
        char *end = write_step(bytes, &steps[i], previous, wait_order[receive], &base_ns);
        status = buffer_append(buffer, bytes, (size_t)(end - bytes));
        previous = steps[i].step;
    }
    return status ? -1 : 0;
}

int unpack_steps(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns)
{
    uint64_t form;
    if (unpack_start(unpack, blob, length, &form) || (form != FORM_STEPS && form != FORM_STEPS_RECEIVE))
        return -1;
    unpack->receive_order = form == FORM_STEPS_RECEIVE;
    unpack->time_ns = base_ns;
    return 0;
}

/* Reads a step with STEP_PARTIAL: the known ends of its waits. */
static int get_partial_waits(struct unpack *unpack, struct proxy_step *step, unsigned flags)
{
    const enum wait_kind *order = wait_order[unpack->receive_order];
    uint64_t known;
    int first = 1;
    if (varint_get(&unpack->at, unpack->end, &known) || known >> 2 * WAIT_KINDS)
        return -1;
    for (unsigned i = 0; i < WAIT_KINDS; i++) {
        struct interval_ns *wait = &step->wait[order[i]];
        unsigned ends = (unsigned)(known >> 2 * order[i] & 3);
        *wait = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
        if (!ends)
            continue;
        if (!(flags & 1U << order[i]))
            return -1;
        if (ends & 1 && !first && flags & STEP_CONTIGUOUS)
            wait->begin_ns = unpack->time_ns;
        else if (ends & 1 && get_time(unpack, &wait->begin_ns))
            return -1;
        if (ends & 2 && get_time(unpack, &wait->end_ns))
            return -1;
        first = 0;
    }
    return 0;
}

/* Reads a step that has both ends of each of its waits. */
static int get_waits(struct unpack *unpack, struct proxy_step *step, unsigned flags)
{
    const enum wait_kind *order = wait_order[unpack->receive_order];
    const unsigned char *at = unpack->at;
    int64_t time_ns = unpack->time_ns, difference;
    int with_begin = 1;
    for (unsigned i = 0; i < WAIT_KINDS; i++) {
        struct interval_ns *wait = &step->wait[order[i]];
        *wait = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
        if (!(flags & 1U << order[i]))
            continue;
        if (with_begin) {
            if (varint_get_signed(&at, unpack->end, &difference))
                return -1;
            time_ns = add(time_ns, difference);
        }
        wait->begin_ns = time_ns;
        if (varint_get_signed(&at, unpack->end, &difference))
            return -1;
        wait->end_ns = time_ns = add(time_ns, difference);
        with_begin = !(flags & STEP_CONTIGUOUS);
    }
    unpack->at = at;
    unpack->time_ns = time_ns;
    return 0;
}

int unpack_next_step(struct unpack *unpack, struct proxy_step *step)
{
    unsigned flags;
    if (unpack->left == 0)
        return 0;
    step->step = add(unpack->number, 1);
    if (get_byte(unpack, &flags) ||
        (!(flags & STEP_NEXT) && varint_get_signed(&unpack->at, unpack->end, &step->step)))
        return -1;
    if (flags & STEP_PARTIAL ? get_partial_waits(unpack, step, flags) : get_waits(unpack, step, flags))
        return -1;
    unpack->number = step->step;
    unpack->left--;
    return 1;
}

/* With an origin, it and whether states follow come before them. */
static int put_origin(struct buffer *buffer, const struct proxy_operation *proxy)
{
    return varint_put(buffer, FORM_ORIGIN) || varint_put(buffer, proxy->has_states != 0) ||
           varint_put_signed(buffer, proxy->origin_pid) || varint_put_signed(buffer, proxy->origin_rank);
}

static int get_origin(struct unpack *unpack, struct proxy_operation *proxy)
{
    return varint_get_signed(&unpack->at, unpack->end, &proxy->origin_pid) ||
           varint_get_signed(&unpack->at, unpack->end, &proxy->origin_rank);
}

int pack_states(struct buffer *buffer, int64_t base_ns, const struct proxy_operation *proxy)
{
    if (proxy->origin_pid > 0 && put_origin(buffer, proxy))
        return -1;
    if (proxy->origin_pid > 0 && !proxy->has_states)
        return 0;
    int status = varint_put(buffer, FORM_STATES) || varint_put(buffer, PROXY_STATES);
    for (int state = 0; state < PROXY_STATES && !status; state++) {
        int64_t at_ns = proxy->state[state].at_ns;
        status =
            varint_put(buffer, at_ns != TIME_UNKNOWN) || varint_put_signed(buffer, proxy->state[state].steps);
        if (!status && at_ns != TIME_UNKNOWN)
            status = put_time(buffer, at_ns, &base_ns);
    }
    return status ? -1 : 0;
}

int unpack_states(const void *blob, size_t length, int64_t base_ns, struct proxy_operation *proxy)
{
    struct unpack unpack;
    uint64_t form;
    if (unpack_start(&unpack, blob, length, &form))
        return -1;
    if (form == FORM_ORIGIN) {
        if (get_origin(&unpack, proxy))
            return -1;
        if (unpack.left == 0)
            return unpack.at == unpack.end ? 0 : -1;
        if (unpack_start(&unpack, unpack.at, (size_t)(unpack.end - unpack.at), &form))
            return -1;
    }
    if (form != FORM_STATES || unpack.left != PROXY_STATES)
        return -1;
    unpack.time_ns = base_ns;
    for (int state = 0; state < PROXY_STATES; state++) {
        uint64_t known;
        proxy->state[state].at_ns = TIME_UNKNOWN;
        if (varint_get(&unpack.at, unpack.end, &known) ||
            varint_get_signed(&unpack.at, unpack.end, &proxy->state[state].steps))
            return -1;
        if (known && get_time(&unpack, &proxy->state[state].at_ns))
            return -1;
    }
    proxy->has_states = 1;
    return 0;
}
