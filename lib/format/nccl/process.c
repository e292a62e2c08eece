/*
 * Bookkeeping of NCCL's debug log: processes and their communicators, start-up times, split
 * lines, and registered memory.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl/nccl.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_UNKNOWN ((struct start){.function = -1, .told = START_UP_UNKNOWN})

void source_processes_init(struct source_processes *processes)
{
    *processes = (struct source_processes){.items = NULL};
    intern_init(&processes->hosts);
    map_init(&processes->by_process);
    map_init(&processes->by_pid);
    map_init(&processes->by_address);
}

void source_processes_release(struct source_processes *processes)
{
    intern_release(&processes->hosts);
    map_release(&processes->by_process);
    map_release(&processes->by_pid);
    map_release(&processes->by_address);
    free(processes->items);
    free(processes->member_list);
}

int64_t source_processes_put(struct source_processes *processes, struct text host, int64_t pid)
{
    int64_t name = intern_put(&processes->hosts, host.data, host.length);
    if (name < 0 || array_reserve((void **)&processes->items, &processes->capacity, processes->count + 1,
                                  sizeof *processes->items))
        return -1;
    int added;
    int64_t next = (int64_t)processes->count;
    int64_t *number =
        map_put(&processes->by_process, (struct map_key){{(uint64_t)name, (uint64_t)pid}}, next, &added);
    if (!number || !map_put(&processes->by_pid, (struct map_key){{(uint64_t)pid}}, *number, NULL))
        return -1;
    if (added)
        processes->items[processes->count++] = (struct source_process){
            .host = name, .pid = pid, .latest_ns = TIME_UNKNOWN, .root = -1, .newest = -1};
    return *number;
}

int source_processes_settle(const struct source_processes *processes, struct text *host, int64_t pid)
{
    const int64_t *number = map_get(&processes->by_pid, (struct map_key){{(uint64_t)pid}});
    if (!number)
        return 0;
    const char *name = intern_text(&processes->hosts, processes->items[*number].host);
    size_t length = strlen(name);
    if (host->length < length || memcmp(host->data + host->length - length, name, length) != 0)
        return 0;
    host->data += host->length - length;
    host->length = length;
    return 1;
}

struct member *source_processes_member(const struct source_processes *processes, int64_t source_process,
                                       uint64_t address)
{
    const int64_t *number =
        map_get(&processes->by_address, (struct map_key){{(uint64_t)source_process, address}});
    return number ? &processes->member_list[*number] : NULL;
}

/*
 * Whether a message is about this member: one is printed when its creation begins, and one when it is
 * complete.
 */
static int is_of(const struct member *member, const struct message_init *init)
{
    int is_same = member->parent == init->parent && member->rank == init->rank &&
                  member->ranks == init->ranks &&
                  (init->parent ? member->color == init->color : member->hash == init->id);
    return is_same && !member->is_complete;
}

/* The hash of a child; 0 if its parent is unknown. */
static uint64_t hash_of(struct source_processes *processes, int64_t source_process,
                        const struct message_init *init)
{
    struct member *parent =
        init->id ? NULL : source_processes_member(processes, source_process, init->parent);
    if (init->id || !parent)
        return init->id;
    /* Before NCCL 2.24 a message does not give the number, so the splits are counted. */
    parent->children = init->child == COUNT_UNKNOWN ? parent->children + 1 : init->child;
    return identity_of_child(parent->hash, (int32_t)parent->children, (int32_t)init->color);
}

static int64_t add_member(struct source_processes *processes, int64_t source_process,
                          const struct message_init *init, uint64_t hash)
{
    const struct member *parent =
        init->parent ? source_processes_member(processes, source_process, init->parent) : NULL;
    uint64_t parent_hash = parent ? parent->hash : 0;
    if (array_reserve((void **)&processes->member_list, &processes->member_capacity,
                      processes->member_list_count + 1, sizeof *processes->member_list))
        return -1;
    int64_t next = (int64_t)processes->member_list_count;
    int64_t *number = map_put(&processes->by_address,
                              (struct map_key){{(uint64_t)source_process, init->communicator}}, next, NULL);
    if (!number)
        return -1;
    *number = next;
    processes->member_list[processes->member_list_count++] =
        (struct member){.source_process = source_process,
                        .address = init->communicator,
                        .hash = hash,
                        .rank = init->rank,
                        .ranks = init->ranks,
                        .parent = init->parent,
                        .parent_hash = parent_hash,
                        .color = init->color,
                        .before = processes->items[source_process].newest,
                        .start = START_UNKNOWN};
    processes->items[source_process].newest = next;
    return next;
}

int source_processes_assume(struct source_processes *processes, int64_t source_process,
                            const struct message_init *init, uint64_t hash)
{
    int64_t number = add_member(processes, source_process, init, hash);
    if (number < 0)
        return -1;
    processes->member_list[number].is_complete = 1;
    processes->member_list[number].is_assumed = 1;
    return 0;
}

int source_processes_begin(struct source_processes *processes, int64_t source_process,
                           const struct message_init *init, struct member **member)
{
    *member = source_processes_member(processes, source_process, init->communicator);
    if (!*member || !is_of(*member, init)) {
        uint64_t hash = hash_of(processes, source_process, init);
        int64_t number = hash ? add_member(processes, source_process, init, hash) : 0;
        if (number < 0)
            return -1;
        *member = hash ? &processes->member_list[number] : NULL;
    }
    if (*member) {
        struct source_process *of = &processes->items[source_process];
        (*member)->is_complete = init->is_complete;
        if (of->root < 0 && !(*member)->parent)
            of->root = *member - processes->member_list;
    }
    return 0;
}

struct member *source_processes_member_before(const struct source_processes *processes,
                                              int64_t source_process, const struct member *member)
{
    int64_t number = member ? member->before : processes->items[source_process].newest;
    return number >= 0 ? &processes->member_list[number] : NULL;
}

void source_processes_pass(struct source_processes *processes, int64_t source_process, int64_t rank)
{
    int64_t root = processes->items[source_process].root;
    if (root >= 0 && processes->member_list[root].rank == rank)
        processes->member_list[root].children++;
}

void partial_lines_release(struct partial_lines *partial_lines)
{
    for (size_t i = 0; i < PARTIAL_LINES_HELD; i++)
        buffer_release(&partial_lines->lines[i].text);
    partial_lines->count = 0;
}

void partial_line_drop(struct partial_lines *partial_lines, size_t number)
{
    struct partial_line dropped = partial_lines->lines[number];
    partial_lines->count--;
    for (size_t i = number; i < partial_lines->count; i++)
        partial_lines->lines[i] = partial_lines->lines[i + 1];
    partial_lines->lines[partial_lines->count] = dropped; /* its memory is reused */
}

int partial_lines_add(struct partial_lines *partial_lines, int64_t source_process, uint64_t offset,
                      int64_t at_ns, struct text text, int64_t *dropped)
{
    *dropped = partial_lines->count == PARTIAL_LINES_HELD ? partial_lines->lines[0].source_process : -1;
    if (partial_lines->count == PARTIAL_LINES_HELD)
        partial_line_drop(partial_lines, 0);
    struct partial_line *line = &partial_lines->lines[partial_lines->count];
    line->source_process = source_process;
    line->offset = offset;
    line->at_ns = at_ns;
    buffer_clear(&line->text);
    if (buffer_append(&line->text, text.data, text.length))
        return -1;
    partial_lines->count++;
    return 0;
}

int partial_line_join(struct partial_lines *partial_lines, size_t number, struct text rest,
                      struct buffer *whole)
{
    const struct buffer *piece = &partial_lines->lines[number].text;
    buffer_clear(whole);
    return buffer_append(whole, piece->data, piece->length) || buffer_append(whole, rest.data, rest.length)
               ? -1
               : 0;
}

/*
 * Finds the call of a message about registered memory. Such messages name no communicator. They follow the
 * message of their call, or of all calls of a group, on the same thread, and have one of its buffers.
 */

/* Number of recent calls that are searched; groups are usually smaller. */
enum { REGISTRATION_CALLS = 1024 };

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

/* The newest call of the thread with this buffer, on a communicator in which the process has this rank. */
static struct recent_call *find_call(struct registrations *registrations,
                                     const struct source_processes *processes, int64_t source_process,
                                     int64_t thread, const struct message_registration *said)
{
    size_t count = registrations->call_count;
    size_t held = count < REGISTRATION_CALLS ? count : REGISTRATION_CALLS;
    for (size_t i = 1; i <= held; i++) {
        struct recent_call *call = &registrations->calls[(count - i) % REGISTRATION_CALLS];
        if (call->source_process != source_process || call->thread != thread)
            continue;
        if ((has_buffer(call, said->address) || has_buffer(call, said->second)) &&
            (said->rank == COUNT_UNKNOWN || processes->member_list[call->member].rank == said->rank))
            return call;
    }
    return NULL;
}

static struct map_key handle_key(int64_t source_process, uint64_t handle)
{
    return (struct map_key){{(uint64_t)source_process, handle}};
}

/* Handles are reused after their registration ends: the newest counts. */
static int remember_handle(struct registrations *registrations, int64_t source_process,
                           const struct message_registration *said, int64_t member)
{
    if (!said->handle)
        return 0;
    if (array_reserve((void **)&registrations->memory, &registrations->memory_capacity,
                      registrations->memory_count + 1, sizeof *registrations->memory))
        return -1;
    int added;
    int64_t *number = map_put(&registrations->by_handle, handle_key(source_process, said->handle),
                              (int64_t)registrations->memory_count, &added);
    if (!number)
        return -1;
    registrations->memory_count += added != 0;
    registrations->memory[*number] = (struct registered_memory){member, said->address};
    return 0;
}

/* The bit of recent_call.told for a message. */
static unsigned reported_bit(const struct message_registration *said)
{
    return 1U << ((unsigned)said->way * 2 + (said->kind == REGISTRATION_FAILED));
}

static int take_use(struct registrations *registrations, const struct source_processes *processes,
                    int64_t source_process, int64_t thread, const struct message_registration *said,
                    struct registration *registration, const struct member **member)
{
    struct recent_call *call = find_call(registrations, processes, source_process, thread, said);
    if (!call)
        return 0;
    *member = &processes->member_list[call->member];
    if (said->kind == REGISTRATION_USED && remember_handle(registrations, source_process, said, call->member))
        return -1;
    if (call->told & reported_bit(said))
        return 0;
    call->told |= reported_bit(said);
    registration->function = call->function;
    registration->number = call->number;
    registration->address = said->address ? said->address : said->second;
    return 1;
}

static int take_end(const struct registrations *registrations, const struct source_processes *processes,
                    int64_t source_process, const struct message_registration *said,
                    struct registration *registration, const struct member **member)
{
    const int64_t *number = map_get(&registrations->by_handle, handle_key(source_process, said->handle));
    if (!number)
        return 0;
    *member = &processes->member_list[registrations->memory[*number].member];
    registration->address = registrations->memory[*number].address;
    registration->calls = (*member)->calls;
    return 1;
}

int registrations_take(struct registrations *registrations, const struct source_processes *processes,
                       int64_t source_process, int64_t thread, const struct message_registration *said,
                       struct registration *registration, const struct member **member)
{
    *member = NULL;
    *registration = (struct registration){.kind = said->kind,
                                          .way = said->way,
                                          .bytes = said->bytes,
                                          .number = COUNT_UNKNOWN,
                                          .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                                          .device = COUNT_UNKNOWN,
                                          .global_rank = COUNT_UNKNOWN};
    if (said->kind == REGISTRATION_ENDED)
        return take_end(registrations, processes, source_process, said, registration, member);
    if (said->kind != REGISTRATION_MADE)
        return take_use(registrations, processes, source_process, thread, said, registration, member);
    *member = source_processes_member(processes, source_process, said->communicator);
    if (!*member)
        return 0;
    registration->address = said->address;
    registration->calls = (*member)->calls;
    return 1;
}

/* Limit on the communicators that a process creates at once: one per GPU, with some margin. */
enum { MADE_AT_ONCE = 64 };

/* Limit on the length of a function name; longer text is no name. */
enum { NAME_MOST = 64 };

static int name_function(struct start *start, struct text name, struct intern *functions)
{
    if (start->function >= 0 || !name.length || name.length > NAME_MOST)
        return 0;
    start->function = intern_put(functions, name.data, name.length);
    return start->function < 0 ? -1 : 0;
}

int start_take_init(struct start *start, const struct message_init *init, int64_t tid, int64_t at_ns,
                    uint64_t offset, struct intern *functions)
{
    start->tid = tid;
    if (!init->is_complete) {
        start->told.begin_ns = at_ns;
        start->offset = offset;
    } else {
        start->told.end_ns = at_ns;
        start->offset = start->offset ? start->offset : offset;
    }
    return name_function(start, init->function, functions);
}

int start_take_bootstrap(const struct source_processes *processes, int64_t source_process, int64_t tid,
                         int64_t total_ns)
{
    struct member *member = source_processes_member_before(processes, source_process, NULL);
    for (int i = 0; member && i < MADE_AT_ONCE;
         i++, member = source_processes_member_before(processes, source_process, member))
        if (member->start.tid == tid && !member->is_complete && !member->parent) {
            member->start.told.parts_ns[START_BOOTSTRAP] = total_ns;
            return 1;
        }
    return 0;
}

/* The bootstrap time known to the microsecond is not replaced by one in hundredths of a second. */
static void take_parts(struct start_up *start, const struct timings *timings)
{
    start->total_ns = timings->total_ns;
    for (int i = 0; i < START_PARTS; i++)
        if (start->parts_ns[i] == TIME_UNKNOWN)
            start->parts_ns[i] = timings->parts_ns[i];
}

int start_take_timings(const struct source_processes *processes, int64_t source_process, int64_t tid,
                       const struct timings *timings, struct intern *functions)
{
    struct member *member = source_processes_member_before(processes, source_process, NULL);
    for (int i = 0; member && i < MADE_AT_ONCE;
         i++, member = source_processes_member_before(processes, source_process, member)) {
        int is_it = member->is_complete && member->start.told.total_ns == TIME_UNKNOWN &&
                    member->start.tid == tid && member->rank == timings->rank &&
                    member->ranks == timings->ranks;
        if (!is_it)
            continue;
        take_parts(&member->start.told, timings);
        return name_function(&member->start, timings->function, functions) ? -1 : 1;
    }
    return 0;
}

void start_fill(const struct member *member, const struct intern *functions, struct start_up *told)
{
    const struct start *start = &member->start;
    *told = start->told;
    told->function = start->function < 0 ? NULL : intern_text(functions, start->function);
    told->parent_hash = member->parent_hash;
    told->is_complete = member->is_complete;
}

static const char *const part_words[START_PARTS] = {
    [START_KERNELS] = "kernels",         [START_ALLOCATION] = "alloc", [START_BOOTSTRAP] = "bootstrap",
    [START_ALLGATHERS] = "allgathers",   [START_TOPOLOGY] = "topo",    [START_GRAPHS] = "graphs",
    [START_CONNECTIONS] = "connections", [START_REST] = "rest",
};

/* " - ncclCommInitRank: rank ..." */
static struct text function_in(struct text behind)
{
    static const char dash[] = " - ";
    if (!text_begins(behind, dash))
        return (struct text){NULL, 0};
    struct text name = {behind.data + (sizeof dash - 1), behind.length - (sizeof dash - 1)};
    const char *colon = memchr(name.data, ':', name.length);
    name.length = colon ? (size_t)(colon - name.data) : 0;
    return name;
}

int timings_read(struct text message, struct timings *timings)
{
    static const char mark[] = "Init timings";
    if (!text_begins(message, mark))
        return 0;
    struct text behind = text_after(message, mark), list = text_after(behind, "(");
    *timings = (struct timings){.function = function_in(behind),
                                .total_ns = text_seconds_ns(text_value(behind, "total"))};
    for (int i = 0; i < START_PARTS; i++)
        timings->parts_ns[i] = text_seconds_ns(text_value(list, part_words[i]));
    return text_number(behind, "rank", &timings->rank) == 0 &&
           text_number(behind, "nranks", &timings->ranks) == 0 && timings->total_ns != TIME_UNKNOWN;
}

int timings_read_bootstrap(struct text message, int64_t *total_ns)
{
    static const char mark[] = "Bootstrap timings ";
    if (!text_begins(message, mark))
        return 0;
    *total_ns = text_seconds_ns(text_value(message, "total"));
    return *total_ns != TIME_UNKNOWN;
}
