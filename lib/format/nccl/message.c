#include "format/nccl/message.h"

#include "input/number.h"
#include "model/event.h"

#include <stdio.h>
#include <string.h>

/* "[nranks=8]", which 2.18 and later print behind the communicator. */
static int64_t ranks_of(struct text message)
{
    struct text word = text_word(text_after(message, "[nranks="));
    int64_t ranks;
    return word.length && number_int64(word.data, word.length, &ranks) == 0 ? ranks : COUNT_UNKNOWN;
}

/* 0 where it is "(nil)". */
static uint64_t address_of(struct text message, const char *key)
{
    uint64_t address;
    return text_hexadecimal(message, key, &address) ? 0 : address;
}

int message_read_call(struct text message, struct message_call *call)
{
    static const char mark[] = ": opCount ";
    struct text behind = text_after(message, mark);
    int64_t datatype;
    if (!behind.data)
        return 0;
    struct text name = {message.data, (size_t)(behind.data - message.data) - (sizeof mark - 1)};
    if (text_word(name).length != name.length)
        return 0;
    call->function = function_from_text(name.data, name.length);
    call->ranks = ranks_of(behind);
    /* The stream comes last: what lacks it was cut. */
    struct text stream = text_value(behind, "stream");
    call->stream = 0;
    if (!text_after(behind, " stream ").data || text_number(behind, "count", &call->count) ||
        text_number(behind, "datatype", &datatype) || text_number(behind, "root", &call->root) ||
        text_hexadecimal(behind, "comm", &call->communicator) || call->count < 0 ||
        (stream.length && number_hexadecimal(stream.data, stream.length, &call->stream)))
        return -1;
    call->datatype = datatype_from_nccl(datatype);
    call->send_buffer = address_of(behind, "sendbuff");
    call->receive_buffer = address_of(behind, "recvbuff");
    return 1;
}

/* Since 2.29 the first line of a communicator begins with "[Rank 3] ". */
static int64_t number_or_unknown(struct text message, const char *key)
{
    int64_t value;
    return text_number(message, key, &value) ? COUNT_UNKNOWN : value;
}

/* What a child is called by count, by version. */
static int64_t child_of(struct text message)
{
    int64_t split = number_or_unknown(message, "splitCount");
    return split == COUNT_UNKNOWN ? number_or_unknown(message, "childCount") : split;
}

/* The word before " comm 0x...". */
static struct text function_of(struct text message)
{
    struct text behind = text_after(message, " comm ");
    if (!behind.data)
        return (struct text){NULL, 0};
    const char *end = behind.data - strlen(" comm "), *begin = end;
    while (begin > message.data && begin[-1] != ' ')
        begin--;
    return (struct text){begin, (size_t)(end - begin)};
}

int message_read_init(struct text message, struct message_init *init)
{
    int is_start = text_holds(message, "- Init START"), is_complete = text_holds(message, "- Init COMPLETE");
    if (!is_start && !is_complete)
        return 0;
    *init = (struct message_init){.is_complete = is_complete};
    if (text_hexadecimal(message, "comm", &init->communicator) || text_number(message, "rank", &init->rank) ||
        text_number(message, "nranks", &init->ranks) || init->rank < 0 || init->ranks < 1)
        return -1;
    init->function = function_of(message);
    init->device = number_or_unknown(message, "cudaDev");
    init->nvml_device = number_or_unknown(message, "nvmlDev");
    init->bus = text_value(message, "busId");
    if (text_hexadecimal(message, "commId", &init->id))
        init->id = 0;
    if (text_hexadecimal(message, "parent", &init->parent))
        init->parent = 0;
    init->child = child_of(message);
    init->color = number_or_unknown(message, "color");
    if (init->id || init->parent)
        return 1;
    return is_complete && init->bus.length && !text_holds(message, "commId") ? 2 : -1;
}

void message_write_bus(struct text said, char *bus, size_t bytes)
{
    uint64_t value;
    if (number_hexadecimal(said.data, said.length, &value) || value >> 36)
        snprintf(bus, bytes, "%.*s", (int)said.length, said.data);
    else
        snprintf(bus, bytes, "%04x:%02x:%02x.%x", (unsigned)(value >> 20), (unsigned)(value >> 12 & 0xff),
                 (unsigned)(value >> 4 & 0xff), (unsigned)(value & 0xf));
}

int message_read_end(struct text message, uint64_t *communicator)
{
    return text_begins(message, "comm ") && text_holds(message, "- Destroy COMPLETE") &&
           text_hexadecimal(message, "comm", communicator) == 0;
}

int message_read_nodes(struct text message, struct message_nodes *nodes)
{
    if (!text_begins(message, "comm ") || !text_holds(message, " nNodes "))
        return 0;
    return text_hexadecimal(message, "comm", &nodes->communicator) ||
                   text_number(message, "nNodes", &nodes->nodes)
               ? -1
               : 1;
}

int message_is_registration(struct text message)
{
    static const char *const marks[] = {"register comm ",
                                        " register ",
                                        " registered ",
                                        " reuse buffer ",
                                        "reuse registered ",
                                        "deregistered ",
                                        "Cleanup buffer ",
                                        "Skipping registration",
                                        " failed to NET register",
                                        " failed to IPC register",
                                        " failed to NVLS register"};
    if (text_begins(message, "register comm "))
        return 1;
    for (size_t i = 1; i < sizeof marks / sizeof *marks; i++)
        if (text_holds(message, marks[i]))
            return 1;
    return 0;
}
