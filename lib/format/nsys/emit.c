#include "format/nsys/emit.h"

struct emission {
    const struct nsys_profile *profile;
    struct map seat_of; /* (process, communicator) -> seat */
    struct map counted; /* (process, communicator, function) -> how many calls so far */
    int64_t ordinal;
};

static int64_t wall(const struct nsys_profile *profile, int64_t ns)
{
    return ns == TIME_UNKNOWN ? TIME_UNKNOWN : profile->epoch_ns + ns;
}

static struct interval_ns wall_times(const struct nsys_profile *profile, struct interval_ns interval)
{
    return (struct interval_ns){wall(profile, interval.begin_ns), wall(profile, interval.end_ns)};
}

static struct map_key place_of(int64_t process, uint64_t hash)
{
    return (struct map_key){{(uint64_t)process, hash}};
}

static struct origin origin_of(const struct nsys_profile *profile, int64_t process, uint64_t hash)
{
    return (struct origin){.host = profile->host.length ? profile->host.data : NULL,
                           .pid = nsys_pid_of(process),
                           .communicator_hash = hash,
                           .rank = COUNT_UNKNOWN};
}

static struct origin origin_of_seat(const struct nsys_profile *profile, const struct nsys_seat *seat)
{
    struct origin origin = origin_of(profile, seat->process, seat->communicator_hash);
    origin.rank = seat->rank;
    origin.communicator_size = seat->size;
    return origin;
}

static int hand_over(const struct nsys_profile *profile, const struct event *event, struct error *error)
{
    return profile->sink->event(profile->sink->context, event, error);
}

static int emit_seat(const struct nsys_profile *profile, const struct nsys_seat *seat, struct error *error)
{
    struct event place = {.kind = EVENT_COMMUNICATOR, .origin = origin_of_seat(profile, seat)};
    struct event facts = {.kind = EVENT_PROCESS, .origin = place.origin, .process = PROCESS_FACTS_NONE};
    struct map_key device = {{(uint64_t)nsys_pid_of(seat->process), (uint64_t)seat->device}};
    const int64_t *uuid = map_get(&profile->uuid_of, device);
    facts.process.gpu = seat->device;
    facts.process.gpu_serial = uuid ? intern_text(&profile->texts, *uuid) : NULL;
    return hand_over(profile, &place, error) ||
                   (seat->device != COUNT_UNKNOWN && hand_over(profile, &facts, error))
               ? -1
               : 0;
}

/* A process may make its communicators anew under a hash that it had: the last one counts. */
static int emit_seats(struct emission *emission, struct error *error)
{
    const struct nsys_profile *profile = emission->profile;
    for (size_t i = 0; i < profile->seat_count; i++) {
        const struct nsys_seat *seat = &profile->seats[i];
        int64_t *at =
            map_put(&emission->seat_of, place_of(seat->process, seat->communicator_hash), (int64_t)i, NULL);
        if (!at)
            return error_no_memory(error);
        *at = (int64_t)i;
    }
    for (size_t i = 0; i < profile->seat_count; i++) {
        const struct nsys_seat *seat = &profile->seats[i];
        const int64_t *at = map_get(&emission->seat_of, place_of(seat->process, seat->communicator_hash));
        if (at && *at == (int64_t)i && emit_seat(profile, seat, error))
            return -1;
    }
    return 0;
}

/* NCCL numbers a communicator's collectives so: from its making on all of them are there. -1: no memory. */
static int count_call(struct emission *emission, const struct nsys_call *call, int64_t *number)
{
    struct map_key key = {
        {(uint64_t)nsys_process_of(call->thread), call->communicator_hash, (uint64_t)call->function}};
    int64_t *count = map_put(&emission->counted, key, 0, NULL);
    if (!count)
        return -1;
    *number = (*count)++;
    return 0;
}

static void take_kernel(const struct nsys_profile *profile, const struct nsys_call *call,
                        struct operation *operation)
{
    if (call->first_kernel < 0)
        return;
    const struct nsys_kernel *first = &profile->kernels[call->first_kernel];
    const struct nsys_kernel *last = &profile->kernels[call->last_kernel];
    struct interval_ns device = first->device;
    interval_widen(&device, last->device);
    operation->enqueue = wall_times(profile, first->launch);
    operation->device = wall_times(profile, device);
    operation->end_source = END_KERNEL;
    operation->duration_ns = device.end_ns - device.begin_ns;
    operation->stream = (uint64_t)first->stream;
    operation->algorithm = first->algorithm;
    operation->is_symmetric = first->is_symmetric;
}

static int emit_call(struct emission *emission, const struct nsys_call *call, struct error *error)
{
    const struct nsys_profile *profile = emission->profile;
    int64_t process = nsys_process_of(call->thread), number;
    const int64_t *at = map_get(&emission->seat_of, place_of(process, call->communicator_hash));
    int is_pair = function_is_point_to_point(call->function);
    if (count_call(emission, call, &number))
        return error_no_memory(error);
    struct event event = {.kind = EVENT_OPERATION,
                          .origin = at ? origin_of_seat(profile, &profile->seats[*at])
                                       : origin_of(profile, process, call->communicator_hash)};
    event.origin.offset = call->row;
    event.operation = (struct operation){
        .ordinal = emission->ordinal++,
        .kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
        .function = call->function,
        .sequence = at && !is_pair ? number : COUNT_UNKNOWN,
        .count = COUNT_UNKNOWN,
        .bytes = call->bytes,
        .root = is_pair ? COUNT_UNKNOWN : call->root,
        .peer = is_pair ? call->peer : COUNT_UNKNOWN,
        .channel_count = COUNT_UNKNOWN,
        .api = wall_times(profile, call->api),
        .enqueue = {TIME_UNKNOWN, TIME_UNKNOWN},
        .device = {TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = COUNT_UNKNOWN,
    };
    take_kernel(profile, call, &event.operation);
    return hand_over(profile, &event, error);
}

int nsys_emit(const struct nsys_profile *profile, struct error *error)
{
    struct emission emission = {.profile = profile};
    map_init(&emission.seat_of);
    map_init(&emission.counted);
    int failed = emit_seats(&emission, error);
    for (size_t i = 0; i < profile->call_count && !failed; i++)
        failed = emit_call(&emission, &profile->calls[i], error);
    map_release(&emission.seat_of);
    map_release(&emission.counted);
    return failed;
}
