/*
 * Parses the messages of NCCL's debug log: calls, communicator creation, registered memory, and the prefix
 * and time before each message.
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/nccl/nccl.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* "[nranks=8]", printed after the communicator since NCCL 2.18. */
static int64_t ranks_of(struct text message)
{
    struct text word = text_word(text_after(message, "[nranks="));
    int64_t ranks;
    return word.length && number_int64(word.data, word.length, &ranks) == 0 ? ranks : COUNT_UNKNOWN;
}

/* 0 for "(nil)". */
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
    struct text count = text_word(behind);
    if (number_hexadecimal(count.data, count.length, &call->launches))
        return -1;
    call->ranks = ranks_of(behind);
    if (text_number(behind, "globalrank", &call->global_rank))
        call->global_rank = COUNT_UNKNOWN;
    /* The stream comes last: without it the message is truncated. */
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

/* Since NCCL 2.29 the first message of a communicator begins with "[Rank 3] ". */
static int64_t number_or_unknown(struct text message, const char *key)
{
    int64_t value;
    return text_number(message, key, &value) ? COUNT_UNKNOWN : value;
}

/* The number of a child communicator; its key differs by version. */
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
    int is_start = text_contains(message, "- Init START"),
        is_complete = text_contains(message, "- Init COMPLETE");
    if (!is_start && !is_complete)
        return 0;
    *init = (struct message_init){.is_complete = is_complete};
    if (text_hexadecimal(message, "comm", &init->communicator) || text_number(message, "rank", &init->rank) ||
        text_number(message, "nranks", &init->ranks) || init->rank < 0 || init->ranks < 1)
        return -1;
    init->function = function_of(message);
    init->device = number_or_unknown(message, "cudaDev");
    init->bus = text_value(message, "busId");
    if (text_hexadecimal(message, "commId", &init->id))
        init->id = 0;
    if (text_hexadecimal(message, "parent", &init->parent))
        init->parent = 0;
    init->child = child_of(message);
    init->color = number_or_unknown(message, "color");
    if (init->id || init->parent)
        return 1;
    return is_complete && init->bus.length && !text_contains(message, "commId") ? 2 : -1;
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
    return text_begins(message, "comm ") && text_contains(message, "- Destroy COMPLETE") &&
           text_hexadecimal(message, "comm", communicator) == 0;
}

int message_read_nodes(struct text message, struct message_nodes *nodes)
{
    if (!text_begins(message, "comm ") || !text_contains(message, " nNodes "))
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
        if (text_contains(message, marks[i]))
            return 1;
    return 0;
}

/*
 * Messages about registered memory (subsystem REG; NCCL 2.23 to 2.30). Those of calls begin with "rank 3 - "
 * or "rank 3 ". Each form has words of its own. COLLNET comes before NET, as its messages contain those
 * words, too.
 */
struct form {
    const char *words;
    enum registration_kind kind;
    enum registration_way way;
    const char *address; /* words before the address; NULL: it has none */
    const char *second;
};

static const struct form forms[] = {
    {"failed to NET register ", REGISTRATION_FAILED, WAY_NET, "userbuff", NULL},
    {"failed to IPC register ", REGISTRATION_FAILED, WAY_IPC, "userbuff", NULL},
    {"failed to NVLS register ", REGISTRATION_FAILED, WAY_NVLS, "sendbuff", "recvbuff"},
    {"COLLNET failed to register ", REGISTRATION_FAILED, WAY_COLLNET, "userbuff", NULL},
    {"IPC deregistered buffer ", REGISTRATION_ENDED, WAY_IPC, NULL, NULL},
    {"deregistered net buffer handle ", REGISTRATION_ENDED, WAY_NET, NULL, NULL},
    {"COLLNET deregistered buffer handle ", REGISTRATION_ENDED, WAY_COLLNET, NULL, NULL},
    {"COLLNET reuse register userbuff ", REGISTRATION_USED, WAY_COLLNET, "userbuff", NULL},
    {"COLLNET register userbuff ", REGISTRATION_USED, WAY_COLLNET, "userbuff", NULL},
    {"NET reuse buffer ", REGISTRATION_USED, WAY_NET, "buffer", NULL},
    {"NET register userbuff ", REGISTRATION_USED, WAY_NET, "userbuff", NULL},
    {"IPC reuse buffer ", REGISTRATION_USED, WAY_IPC, "buffer", NULL},
    {"IPC register buffer ", REGISTRATION_USED, WAY_IPC, "buffer", NULL},
    {"IPC local register buffer ", REGISTRATION_USED, WAY_IPC, "buffer", NULL},
    {"IPC graph register buffer ", REGISTRATION_USED, WAY_IPC, "buffer", NULL},
    {"successfully registered NVLS sendbuff ", REGISTRATION_USED, WAY_NVLS, "sendbuff", "recvbuff"},
    {"reuse registered NVLS sendbuff ", REGISTRATION_USED, WAY_NVLS, "sendbuff", "recvbuff"},
};

static uint64_t message_registration_address_of(struct text message, const char *key)
{
    uint64_t address;
    return !key || text_hexadecimal(message, key, &address) ? 0 : address;
}

/* "register comm 0x1 buffer 0x2 size 3", with or without a function name before it. */
static int read_made(struct text behind, struct message_registration *registration)
{
    uint64_t address = 0;
    struct text word = text_word(behind);
    *registration = (struct message_registration){.kind = REGISTRATION_MADE, .rank = COUNT_UNKNOWN};
    if (!word.length || number_hexadecimal(word.data, word.length, &registration->communicator) ||
        text_hexadecimal(behind, "buffer", &address) || text_number(behind, "size", &registration->bytes) ||
        registration->bytes <= 0 || !address)
        return -1;
    registration->address = address;
    return 1;
}

/* The handle in later messages: the network's, or for IPC, which has none, the beginning of the memory. */
static uint64_t handle_of(struct text message, const struct form *form)
{
    static const char *const keys[] = {"handle", "(handle"};
    if (form->way == WAY_IPC)
        return message_registration_address_of(message,
                                               form->kind == REGISTRATION_ENDED ? "buffer" : "(baseAddr");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint64_t handle = message_registration_address_of(message, keys[i]);
        if (handle)
            return handle;
    }
    return 0;
}

static int read_form(struct text message, const struct form *form, struct message_registration *registration)
{
    *registration =
        (struct message_registration){.kind = form->kind,
                                      .way = form->way,
                                      .address = message_registration_address_of(message, form->address),
                                      .second = message_registration_address_of(message, form->second),
                                      .handle = handle_of(message, form)};
    if (text_number(message, "rank", &registration->rank))
        registration->rank = COUNT_UNKNOWN;
    return registration->address || registration->second || registration->handle ? 1 : -1;
}

int message_read_registration(struct text message, struct message_registration *registration)
{
    struct text behind = text_after(message, "register comm ");
    if (behind.data)
        return read_made(behind, registration);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (text_contains(message, forms[i].words))
            return read_form(message, &forms[i], registration);
    return 0;
}

enum { ESCAPE = 0x1b };

/* The length of the escape sequence at a place: ESC, a bracket, and everything up to a letter. */
static size_t sequence_length(struct text text, size_t at)
{
    size_t length = 1;
    if (at + 1 >= text.length || text.data[at + 1] != '[')
        return length;
    for (length = 2; at + length < text.length; length++) {
        char byte = text.data[at + length];
        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
            return length + 1;
    }
    return length;
}

int strip_terminal_escapes(struct text *line, struct buffer *buffer)
{
    if (!memchr(line->data, ESCAPE, line->length))
        return 0;
    buffer_clear(buffer);
    for (size_t at = 0; at < line->length;) {
        if (line->data[at] == ESCAPE)
            at += sequence_length(*line, at);
        else if (buffer_append_byte(buffer, line->data[at++]))
            return -1;
    }
    *line = (struct text){buffer->length ? buffer->data : "", buffer->length};
    return 0;
}

static int begins_stamp(struct text text)
{
    if (text_begins(text, "[rank") || text_begins(text, "[default"))
        return 1;
    for (size_t i = 1; i < 5; i++)
        if (text.length < 6 || text.data[0] != '[' || !is_digit(text.data[i]))
            return 0;
    return text.data[5] == '-';
}

size_t length_before_timestamp(struct text text)
{
    for (size_t at = 0; at < text.length; at++)
        if (text.data[at] == '[' && begins_stamp((struct text){text.data + at, text.length - at}))
            return at;
    return text.length;
}

static const int64_t SECOND_NS = 1000000000;

/* Exactly `count` digits at a place, as a number; -1 if they are not there. */
static int64_t digits(struct text text, size_t at, size_t count)
{
    int64_t number = 0;
    if (at + count > text.length)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char byte = text.data[at + i];
        if (!is_digit(byte))
            return -1;
        number = number * 10 + (byte - '0');
    }
    return number;
}

static char byte_at(struct text text, size_t at)
{
    if (at >= text.length)
        return '\0';
    return text.data[at];
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t stamp_days(int64_t year, int64_t month, int64_t day)
{
    /* Years begin in March, so the leap day is the last day. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Seconds since 1970 of "YYYY-MM-DD?HH:MM:SS" at a place; -1 if there is none. */
static int64_t seconds_at(struct text text, size_t at)
{
    int64_t year = digits(text, at, 4), month = digits(text, at + 5, 2), day = digits(text, at + 8, 2);
    int64_t hour = digits(text, at + 11, 2), minute = digits(text, at + 14, 2),
            second = digits(text, at + 17, 2);
    char between = byte_at(text, at + 10), dash = byte_at(text, at + 4);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    if ((dash != '-' && dash != '/') || byte_at(text, at + 7) != dash || (between != ' ' && between != 'T') ||
        byte_at(text, at + 13) != ':' || byte_at(text, at + 16) != ':')
        return -1;
    return ((stamp_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
}

/* Decimals of a second at a place, as nanoseconds. Moves `*at` past them. */
static int64_t fraction_at(struct text text, size_t *at, int *decimals)
{
    int64_t ns = 0;
    *decimals = 0;
    if (byte_at(text, *at) != '.' && byte_at(text, *at) != ',')
        return 0;
    for ((*at)++; digits(text, *at, 1) >= 0; (*at)++)
        if (*decimals < 9) {
            ns = ns * 10 + digits(text, *at, 1);
            (*decimals)++;
        }
    for (int i = *decimals; i < 9; i++)
        ns *= 10;
    return ns;
}

/* The offset from UTC of "+01:00", "-0730" or "+02" at a place, in seconds. */
static int64_t zone_at(struct text text, size_t at)
{
    char sign = byte_at(text, at);
    int64_t hours = digits(text, at + 1, 2);
    if ((sign != '+' && sign != '-') || hours < 0)
        return 0;
    int64_t minutes = digits(text, at + 3 + (byte_at(text, at + 3) == ':'), 2);
    int64_t ahead = hours * 3600 + (minutes < 0 ? 0 : minutes * 60);
    return sign == '+' ? ahead : -ahead;
}

enum { STAMP_LENGTH = 19 };

int64_t timestamp_find(struct text prefix, int *decimals)
{
    *decimals = 0;
    for (size_t at = prefix.length < STAMP_LENGTH ? 0 : prefix.length - STAMP_LENGTH + 1; at-- > 0;) {
        int64_t seconds = is_digit(prefix.data[at]) ? seconds_at(prefix, at) : -1;
        if (seconds < 0)
            continue;
        size_t behind = at + STAMP_LENGTH;
        int64_t fraction_ns = fraction_at(prefix, &behind, decimals);
        return (seconds - zone_at(prefix, behind)) * SECOND_NS + fraction_ns;
    }
    return TIME_UNKNOWN;
}

static const struct {
    const char *mark;
    enum level level;
} marks[] = {{" NCCL INFO ", LEVEL_INFO},
             {" NCCL WARN ", LEVEL_WARN},
             {" NCCL CALL ", LEVEL_CALL},
             {" NCCL TRACE ", LEVEL_TRACE}};

enum { MARKS = sizeof marks / sizeof *marks };

/* The first " NCCL " that is followed by a level; NULL. `*number` receives the level's index. */
static const char *find_mark(struct text line, size_t *number)
{
    static const char common[] = " NCCL ";
    const char *end = line.data + line.length, *at = line.data;
    while ((at = text_find(at, (size_t)(end - at), common, sizeof common - 1))) {
        for (*number = 0; *number < MARKS; ++*number)
            if (text_begins((struct text){at, (size_t)(end - at)}, marks[*number].mark))
                return at;
        at += sizeof common - 1;
    }
    return NULL;
}

/* Returns the last word before a place and moves the place before it. */
static struct text word_before(struct text line, size_t *at)
{
    size_t end = *at, begin = end;
    while (begin > 0 && line.data[begin - 1] != ' ')
        begin--;
    *at = begin ? begin - 1 : 0;
    return (struct text){line.data + begin, end - begin};
}

static int is_digits(struct text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!is_digit(text.data[i]))
            return 0;
    return text.length > 0;
}

static int is_of_host(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) || byte == '-' ||
           byte == '_' || byte == '.';
}

/* Parses "host:pid:tid". The host name begins after the last byte that no name contains. */
static int read_source_process(struct text word, struct head *head)
{
    const char *thread = memrchr(word.data, ':', word.length);
    const char *process = thread ? memrchr(word.data, ':', (size_t)(thread - word.data)) : NULL;
    if (!process)
        return -1;
    struct text tid = {thread + 1, word.length - (size_t)(thread + 1 - word.data)};
    struct text pid = {process + 1, (size_t)(thread - process - 1)};
    size_t length = (size_t)(process - word.data), begin = length;
    while (begin > 0 && is_of_host(word.data[begin - 1]))
        begin--;
    head->host = (struct text){word.data + begin, length - begin};
    return !is_digits(tid) || !is_digits(pid) || number_int64(pid.data, pid.length, &head->pid) ||
                   number_int64(tid.data, tid.length, &head->tid) || !head->host.length
               ? -1
               : 0;
}

static int is_device(struct text word, int64_t *device)
{
    return word.length > 2 && word.data[0] == '[' && word.data[word.length - 1] == ']' &&
           is_digits((struct text){word.data + 1, word.length - 2}) &&
           number_int64(word.data + 1, word.length - 2, device) == 0;
}

/*
 * Warnings and traces give the source line; traces also give the time, after the device. Warnings of a plugin
 * give its function with the whole signature.
 */
enum { WORDS_BETWEEN = 3, WORDS_BETWEEN_WARNING = 32 };

static int read_before(struct text line, size_t mark, enum level level, struct head *head)
{
    int most = level == LEVEL_WARN ? WORDS_BETWEEN_WARNING : WORDS_BETWEEN;
    size_t at = mark;
    head->device = -1;
    for (int i = 0; i <= most && at > 0; i++) {
        struct text word = word_before(line, &at);
        if (is_device(word, &head->device))
            i = most - 1; /* the process comes right before the device */
        else if (read_source_process(word, head) == 0) {
            head->before = (struct text){line.data, (size_t)(head->host.data - line.data)};
            return 0;
        }
    }
    return -1;
}

int head_find(struct text line, struct head *head)
{
    struct text rest = line;
    size_t number;
    for (const char *mark; (mark = find_mark(rest, &number));) {
        size_t length = strlen(marks[number].mark);
        rest = (struct text){mark + length, (size_t)(line.data + line.length - mark) - length};
        if (read_before(line, (size_t)(mark - line.data), marks[number].level, head))
            continue;
        head->level = marks[number].level;
        head->message = rest;
        return 1;
    }
    return 0;
}

/* For a file that has a line of NCCL's log and no JSON. */
enum { SURE = 60 };

/* Programs and pages that quote a log are no logs. */
static int is_quoted(struct text before)
{
    for (size_t i = 0; i < before.length; i++)
        if (strchr("\"'`", before.data[i]))
            return 1;
    return 0;
}

int nccl_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    struct head head;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t of_line = line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes);
        if (head_find((struct text){bytes, of_line}, &head) && !is_quoted(head.before))
            return SURE;
        bytes += of_line + 1;
    }
    return 0;
}

/* Adds `bytes` bytes of a number to the two lanes of the hash (NCCL, src/include/bitops.h). */
static void take_in(uint64_t lanes[2], uint64_t number, uint64_t bytes)
{
    lanes[0] ^= bytes;
    lanes[0] += lanes[1];
    lanes[1] ^= lanes[0];
    lanes[0] ^= lanes[0] >> 31;
    lanes[0] *= UINT64_C(0x9de62bbc8cef3ce3);
    lanes[1] ^= lanes[1] >> 32;
    lanes[1] *= UINT64_C(0x485cd6311b599e79);
    lanes[0] += number;
}

static uint64_t digest_of(const uint64_t lanes[2])
{
    uint64_t hash = lanes[0];
    hash ^= hash >> 31;
    hash *= UINT64_C(0xbac3bd562846de6b);
    hash += lanes[1];
    hash ^= hash >> 32;
    hash *= UINT64_C(0x995a187a14e7b445);
    return hash;
}

uint64_t identity_of_child(uint64_t parent_hash, int32_t child, int32_t color)
{
    uint64_t lanes[2] = {1, 1};
    take_in(lanes, parent_hash, sizeof parent_hash);
    take_in(lanes, (uint32_t)child, sizeof child);
    take_in(lanes, (uint32_t)color, sizeof color);
    return digest_of(lanes);
}
