#include "format/nccl/registrations.h"

#include "base/array.h"

#include <stdlib.h>

void registrations_init(struct registrations *registrations)
{
    *registrations = (struct registrations){.calls = NULL};
    map_init(&registrations->by_handle);
}

void registrations_release(struct registrations *registrations)
{
    free(registrations->calls);
    free(registrations->memory);
    map_release(&registrations->by_handle);
}

int registrations_call(struct registrations *registrations, const struct recent_call *call)
{
    if (!registrations->calls &&
        !(registrations->calls = array_new(REGISTRATION_CALLS, sizeof *registrations->calls)))
        return -1;
    registrations->calls[registrations->call_count++ % REGISTRATION_CALLS] = *call;
    return 0;
}

static int has_buffer(const struct recent_call *call, uint64_t address)
{
    return address && (call->send_buffer == address || call->receive_buffer == address);
}

/* The newest call of the thread that has the buffer, on a communicator in which the process has that rank. */
static struct recent_call *find_call(struct registrations *registrations, const struct speakers *speakers,
                                     int64_t speaker, int64_t thread, const struct message_registration *said)
{
    size_t count = registrations->call_count;
    size_t held = count < REGISTRATION_CALLS ? count : REGISTRATION_CALLS;
    for (size_t i = 1; i <= held; i++) {
        struct recent_call *call = &registrations->calls[(count - i) % REGISTRATION_CALLS];
        if (call->speaker != speaker || call->thread != thread)
            continue;
        if ((has_buffer(call, said->address) || has_buffer(call, said->second)) &&
            (said->rank == COUNT_UNKNOWN || speakers->seats[call->seat].rank == said->rank))
            return call;
    }
    return NULL;
}

static struct map_key handle_key(int64_t speaker, uint64_t handle)
{
    return (struct map_key){{(uint64_t)speaker, handle}};
}

/* Handles come again when what had them has ended: the newest counts. */
static int remember_handle(struct registrations *registrations, int64_t speaker,
                           const struct message_registration *said, int64_t seat)
{
    if (!said->handle)
        return 0;
    if (array_reserve((void **)&registrations->memory, &registrations->memory_capacity,
                      registrations->memory_count + 1, sizeof *registrations->memory))
        return -1;
    int added;
    int64_t *number = map_put(&registrations->by_handle, handle_key(speaker, said->handle),
                              (int64_t)registrations->memory_count, &added);
    if (!number)
        return -1;
    registrations->memory_count += added != 0;
    registrations->memory[*number] = (struct registered_memory){seat, said->address};
    return 0;
}

/* Bit of what is told of a call. */
static unsigned told_bit(const struct message_registration *said)
{
    return 1U << ((unsigned)said->way * 2 + (said->kind == REGISTRATION_FAILED));
}

static int take_use(struct registrations *registrations, const struct speakers *speakers, int64_t speaker,
                    int64_t thread, const struct message_registration *said,
                    struct registration *registration, const struct seat **seat)
{
    struct recent_call *call = find_call(registrations, speakers, speaker, thread, said);
    if (!call)
        return 0;
    *seat = &speakers->seats[call->seat];
    if (said->kind == REGISTRATION_USED && remember_handle(registrations, speaker, said, call->seat))
        return -1;
    if (call->told & told_bit(said))
        return 0;
    call->told |= told_bit(said);
    registration->function = call->function;
    registration->number = call->number;
    registration->address = said->address ? said->address : said->second;
    return 1;
}

static int take_end(const struct registrations *registrations, const struct speakers *speakers,
                    int64_t speaker, const struct message_registration *said,
                    struct registration *registration, const struct seat **seat)
{
    const int64_t *number = map_get(&registrations->by_handle, handle_key(speaker, said->handle));
    if (!number)
        return 0;
    *seat = &speakers->seats[registrations->memory[*number].seat];
    registration->address = registrations->memory[*number].address;
    registration->calls = (*seat)->calls;
    return 1;
}

int registrations_take(struct registrations *registrations, const struct speakers *speakers, int64_t speaker,
                       int64_t thread, const struct message_registration *said,
                       struct registration *registration, const struct seat **seat)
{
    *seat = NULL;
    *registration = (struct registration){.kind = said->kind,
                                          .way = said->way,
                                          .bytes = said->bytes,
                                          .number = COUNT_UNKNOWN,
                                          .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                                          .device = COUNT_UNKNOWN,
                                          .global_rank = COUNT_UNKNOWN};
    if (said->kind == REGISTRATION_ENDED)
        return take_end(registrations, speakers, speaker, said, registration, seat);
    if (said->kind != REGISTRATION_MADE)
        return take_use(registrations, speakers, speaker, thread, said, registration, seat);
    *seat = speakers_seat(speakers, speaker, said->communicator);
    if (!*seat)
        return 0;
    registration->address = said->address;
    registration->calls = (*seat)->calls;
    return 1;
}
