#include "format/nccl/speakers.h"

#include "base/array.h"
#include "format/nccl/identity.h"
#include "model/event.h"

#include <stdlib.h>
#include <string.h>

void speakers_init(struct speakers *speakers)
{
    *speakers = (struct speakers){.items = NULL};
    intern_init(&speakers->hosts);
    map_init(&speakers->by_process);
    map_init(&speakers->by_pid);
    map_init(&speakers->by_address);
}

void speakers_release(struct speakers *speakers)
{
    intern_release(&speakers->hosts);
    map_release(&speakers->by_process);
    map_release(&speakers->by_pid);
    map_release(&speakers->by_address);
    free(speakers->items);
    free(speakers->seats);
}

int64_t speakers_put(struct speakers *speakers, struct text host, int64_t pid)
{
    int64_t name = intern_put(&speakers->hosts, host.data, host.length);
    if (name < 0 || array_reserve((void **)&speakers->items, &speakers->capacity, speakers->count + 1,
                                  sizeof *speakers->items))
        return -1;
    int added;
    int64_t next = (int64_t)speakers->count;
    int64_t *number =
        map_put(&speakers->by_process, (struct map_key){{(uint64_t)name, (uint64_t)pid}}, next, &added);
    if (!number || !map_put(&speakers->by_pid, (struct map_key){{(uint64_t)pid}}, *number, NULL))
        return -1;
    if (added)
        speakers->items[speakers->count++] =
            (struct speaker){.host = name, .pid = pid, .latest_ns = TIME_UNKNOWN, .root = -1, .newest = -1};
    return *number;
}

int speakers_settle(const struct speakers *speakers, struct text *host, int64_t pid)
{
    const int64_t *number = map_get(&speakers->by_pid, (struct map_key){{(uint64_t)pid}});
    if (!number)
        return 0;
    const char *name = intern_text(&speakers->hosts, speakers->items[*number].host);
    size_t length = strlen(name);
    if (host->length < length || memcmp(host->data + host->length - length, name, length) != 0)
        return 0;
    host->data += host->length - length;
    host->length = length;
    return 1;
}

struct seat *speakers_seat(const struct speakers *speakers, int64_t speaker, uint64_t address)
{
    const int64_t *number = map_get(&speakers->by_address, (struct map_key){{(uint64_t)speaker, address}});
    return number ? &speakers->seats[*number] : NULL;
}

/* Whether a seat is what a line tells of: each is told of when it begins to be made and when it is there. */
static int is_of(const struct seat *seat, const struct message_init *init)
{
    int is_same = seat->parent == init->parent && seat->rank == init->rank && seat->ranks == init->ranks &&
                  (init->parent ? seat->color == init->color : seat->hash == init->id);
    return is_same && !seat->is_complete;
}

/* The hash of a child; 0 where its parent is not known. */
static uint64_t hash_of(struct speakers *speakers, int64_t speaker, const struct message_init *init)
{
    struct seat *parent = init->id ? NULL : speakers_seat(speakers, speaker, init->parent);
    if (init->id || !parent)
        return init->id;
    /* Before 2.24 a line does not say the number: it is counted. */
    parent->children = init->child == COUNT_UNKNOWN ? parent->children + 1 : init->child;
    return identity_of_child(parent->hash, (int32_t)parent->children, (int32_t)init->color);
}

static int64_t add_seat(struct speakers *speakers, int64_t speaker, const struct message_init *init,
                        uint64_t hash)
{
    const struct seat *parent = init->parent ? speakers_seat(speakers, speaker, init->parent) : NULL;
    uint64_t parent_hash = parent ? parent->hash : 0;
    if (array_reserve((void **)&speakers->seats, &speakers->seat_capacity, speakers->seat_count + 1,
                      sizeof *speakers->seats))
        return -1;
    int64_t next = (int64_t)speakers->seat_count;
    int64_t *number =
        map_put(&speakers->by_address, (struct map_key){{(uint64_t)speaker, init->communicator}}, next, NULL);
    if (!number)
        return -1;
    *number = next;
    speakers->seats[speakers->seat_count++] = (struct seat){.speaker = speaker,
                                                            .address = init->communicator,
                                                            .hash = hash,
                                                            .rank = init->rank,
                                                            .ranks = init->ranks,
                                                            .parent = init->parent,
                                                            .parent_hash = parent_hash,
                                                            .color = init->color,
                                                            .before = speakers->items[speaker].newest,
                                                            .start = START_UNKNOWN};
    speakers->items[speaker].newest = next;
    return next;
}

int speakers_begin(struct speakers *speakers, int64_t speaker, const struct message_init *init,
                   struct seat **seat)
{
    *seat = speakers_seat(speakers, speaker, init->communicator);
    if (!*seat || !is_of(*seat, init)) {
        uint64_t hash = hash_of(speakers, speaker, init);
        int64_t number = hash ? add_seat(speakers, speaker, init, hash) : 0;
        if (number < 0)
            return -1;
        *seat = hash ? &speakers->seats[number] : NULL;
    }
    if (*seat) {
        struct speaker *of = &speakers->items[speaker];
        (*seat)->is_complete = init->is_complete;
        if (of->root < 0 && !(*seat)->parent)
            of->root = *seat - speakers->seats;
    }
    return 0;
}

struct seat *speakers_seat_before(const struct speakers *speakers, int64_t speaker, const struct seat *seat)
{
    int64_t number = seat ? seat->before : speakers->items[speaker].newest;
    return number >= 0 ? &speakers->seats[number] : NULL;
}

void speakers_pass(struct speakers *speakers, int64_t speaker, int64_t rank)
{
    int64_t root = speakers->items[speaker].root;
    if (root >= 0 && speakers->seats[root].rank == rank)
        speakers->seats[root].children++;
}
