#include "format/chrome/scan.h"

#include "format/scan.h"

#include <stddef.h>
#include <string.h>

/*
 * A line is: {"name": "NAME", "cat": "CATEGORY", "ph": "P", "id": N, "pid": N, "tid": 1, "ts": T and then,
 * for an end, }; for a begin, one of the forms of arguments that its category has.
 */
#define BEFORE_NAME "{\"name\": \""

/* No line is shorter, and no words that one begins with are longer. */
enum { LINE_LEAST_BYTES = 64 };

/* One form of arguments, all the way to the end of the line. */
struct form {
    const struct scan_field *fields;
    size_t count;
    unsigned hints;
};

#define FIELD(words, type, member)                                    \
    {                                                                 \
        SCAN_WORDS(words), type, offsetof(struct chrome_line, member) \
    }
#define LAST(words)                        \
    {                                      \
        SCAN_WORDS(words), SCAN_NOTHING, 0 \
    }
#define SKIP(words, type)          \
    {                              \
        SCAN_WORDS(words), type, 0 \
    }
#define FORM(fields, hints)                               \
    {                                                     \
        fields, sizeof(fields) / sizeof(*(fields)), hints \
    }

static const struct scan_field no_arguments[] = {LAST("}")};

#define PROXY_FIELDS                                                  \
    FIELD(", \"args\": {\"Channel\": ", SCAN_NATURAL, proxy.channel), \
        FIELD(", \"Peer\": ", SCAN_NATURAL_OR_NONE, proxy.peer),      \
        FIELD(", \"Steps\": ", SCAN_NATURAL, proxy.step_count),       \
        FIELD(", \"ChunkSize\": ", SCAN_NATURAL, proxy.chunk_bytes),  \
        FIELD(", \"transSize\": ", SCAN_NATURAL, proxy.transferred_bytes)
#define STATE_FIELDS(before, which)                                      \
    FIELD(before "{\"step\": ", SCAN_NATURAL, proxy.state[which].steps), \
        FIELD(", \"ts\": ", SCAN_MOMENT, proxy.state[which].at_ns)

static const struct scan_field proxy_fields[] = {PROXY_FIELDS, LAST("}}")};
static const struct scan_field send_fields[] = {PROXY_FIELDS,
                                                STATE_FIELDS(", \"POSTED\": ", STATE_POSTED),
                                                STATE_FIELDS("}, \"REM_FIFO_WAIT\": ", STATE_PEER),
                                                STATE_FIELDS("}, \"TRANSMITTED\": ", STATE_TRANSMITTED),
                                                STATE_FIELDS("}, \"DONE\": ", STATE_DONE),
                                                LAST("}}}")};
static const struct scan_field receive_fields[] = {PROXY_FIELDS,
                                                   STATE_FIELDS(", \"POSTED\": ", STATE_POSTED),
                                                   STATE_FIELDS("}, \"RECEIVED\": ", STATE_PEER),
                                                   STATE_FIELDS("}, \"TRANSMITTED\": ", STATE_TRANSMITTED),
                                                   STATE_FIELDS("}, \"DONE\": ", STATE_DONE),
                                                   LAST("}}}")};
static const struct scan_field appended_fields[] = {SKIP(", \"args\": {\"appended\": ", SCAN_SKIP_INTEGER),
                                                    LAST("}}")};
static const struct form proxy_forms[] = {FORM(proxy_fields, 0), {NULL, 0, 0}};
static const struct form send_forms[] = {FORM(send_fields, 0), {NULL, 0, 0}};
static const struct form receive_forms[] = {FORM(receive_fields, 0), {NULL, 0, 0}};
static const struct form control_forms[] = {FORM(no_arguments, 0), FORM(appended_fields, 0), {NULL, 0, 0}};

#define KERNEL_FIELDS                                                  \
    FIELD(", \"args\": {\"Channel\": ", SCAN_INTEGER, kernel.channel), \
        FIELD(", \"StartGpuClk\": ", SCAN_UNSIGNED, kernel.gpu_begin), \
        FIELD(", \"StopGpuClk\": ", SCAN_UNSIGNED, kernel.gpu_end)

static const struct scan_field kernel_fields[] = {KERNEL_FIELDS, LAST("}}")};
static const struct scan_field bundled_kernel_fields[] = {
    KERNEL_FIELDS, FIELD(", \"StartHost\": ", SCAN_MOMENT, kernel.begin_ns),
    FIELD(", \"StopHost\": ", SCAN_MOMENT, kernel.end_ns), LAST("}}")};
static const struct scan_field old_kernel_fields[] = {
    FIELD(", \"args\": {\"Channel\": ", SCAN_INTEGER, kernel.channel), LAST("}}")};
static const struct scan_field phase_fields[] = {
    SKIP(", \"dur\": ", SCAN_SKIP_DECIMAL),
    FIELD(", \"args\": {\"Channel\": ", SCAN_INTEGER, kernel.channel),
    FIELD(", \"PhaseId\": ", SCAN_NATURAL, kernel.phase),
    FIELD(", \"StartGpuClk\": ", SCAN_UNSIGNED, kernel.gpu_begin),
    FIELD(", \"StopGpuClk\": ", SCAN_UNSIGNED, kernel.gpu_end),
    LAST("}}")};
static const struct form phase_forms[] = {FORM(phase_fields, CHROME_HINT_PHASES), {NULL, 0, 0}};
static const struct form kernel_forms[] = {
    FORM(kernel_fields, 0), FORM(bundled_kernel_fields, 0), FORM(old_kernel_fields, 0), {NULL, 0, 0}};

static const struct scan_field group_fields[] = {SKIP(", \"args\": {\"groupId\": ", SCAN_SKIP_INTEGER),
                                                 LAST("}}")};
static const struct form group_forms[] = {FORM(group_fields, 0), {NULL, 0, 0}};

static const struct scan_field group_call_fields[] = {
    SKIP(", \"args\": {\"groupApiId\": ", SCAN_SKIP_INTEGER), SKIP(", \"groupDepth\": ", SCAN_SKIP_INTEGER),
    LAST("}}")};
static const struct scan_field group_call_tight_fields[] = {
    SKIP(", \"args\": {\"groupApiId\": ", SCAN_SKIP_INTEGER), SKIP(", \"groupDepth\":", SCAN_SKIP_INTEGER),
    LAST("}}")};
static const struct form group_call_forms[] = {
    FORM(group_call_fields, 0), FORM(group_call_tight_fields, 0), {NULL, 0, 0}};

static const struct scan_field launch_fields[] = {SKIP(", \"args\": {\"groupId\": ", SCAN_SKIP_INTEGER),
                                                  FIELD(", \"Stream\": \"", SCAN_ADDRESS, api.stream),
                                                  LAST("\"}}")};
static const struct scan_field launch_bare_fields[] = {SKIP(", \"args\": {\"groupId\": ", SCAN_SKIP_INTEGER),
                                                       FIELD(", \"Stream\": ", SCAN_ADDRESS, api.stream),
                                                       LAST("}}")};
static const struct form launch_forms[] = {
    FORM(launch_fields, 0), FORM(launch_bare_fields, CHROME_HINT_UNQUOTED), {NULL, 0, 0}};

#define CALL_FIELDS                                             \
    FIELD(", \"args\": {\"count\": ", SCAN_NATURAL, api.count), \
        FIELD(", \"datatype\": \"", SCAN_DATATYPE, api.datatype)
#define CALL_BARE_FIELDS                                        \
    FIELD(", \"args\": {\"count\": ", SCAN_NATURAL, api.count), \
        FIELD(", \"datatype\": nccl", SCAN_DATATYPE_WORD, api.datatype)

static const struct scan_field call_fields[] = {
    CALL_FIELDS, FIELD("\", \"root\": ", SCAN_NATURAL_OR_NONE, api.root),
    FIELD(", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"", SCAN_ADDRESS, api.stream), LAST("\"}}")};
static const struct scan_field tagged_call_fields[] = {
    CALL_FIELDS,
    FIELD("\", \"root\": ", SCAN_NATURAL_OR_NONE, api.root),
    FIELD(", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"", SCAN_ADDRESS, api.stream),
    FIELD("\", \"UserTag\": ", SCAN_UNSIGNED, api.user_tag),
    LAST("}}")};
static const struct scan_field call_bare_fields[] = {
    CALL_BARE_FIELDS, FIELD(", \"root\": ", SCAN_NATURAL_OR_NONE, api.root),
    FIELD(", \"GraphCaptured\":", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": ", SCAN_ADDRESS, api.stream), LAST("}}")};
static const struct scan_field pair_call_fields[] = {
    CALL_FIELDS, FIELD("\", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"", SCAN_ADDRESS, api.stream), LAST("\"}}")};
static const struct scan_field tagged_pair_call_fields[] = {
    CALL_FIELDS, FIELD("\", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"", SCAN_ADDRESS, api.stream),
    FIELD("\", \"UserTag\": ", SCAN_UNSIGNED, api.user_tag), LAST("}}")};
static const struct scan_field pair_call_bare_fields[] = {
    CALL_BARE_FIELDS, FIELD(", \"GraphCaptured\":", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": ", SCAN_ADDRESS, api.stream), LAST("}}")};
static const struct form call_forms[] = {FORM(call_fields, 0),
                                         FORM(tagged_call_fields, 0),
                                         FORM(call_bare_fields, CHROME_HINT_UNQUOTED),
                                         {NULL, 0, 0}};
static const struct form pair_call_forms[] = {FORM(pair_call_fields, 0),
                                              FORM(tagged_pair_call_fields, 0),
                                              FORM(pair_call_bare_fields, CHROME_HINT_UNQUOTED),
                                              {NULL, 0, 0}};

#define COLLECTIVE_FIELDS                                                      \
    FIELD(", \"args\": {\"SeqNum\": ", SCAN_NATURAL, operation.sequence),      \
        FIELD(", \"CommHash\": ", SCAN_UNSIGNED, operation.communicator_hash), \
        FIELD(", \"Rank\": ", SCAN_NATURAL_OR_NONE, operation.rank),           \
        FIELD(", \"Count\": ", SCAN_NATURAL, operation.count)
#define COLLECTIVE_WORDS                                                     \
    FIELD(", \"Datatype\": \"", SCAN_DATATYPE, operation.datatype),          \
        FIELD("\", \"Algorithm\": \"", SCAN_ALGORITHM, operation.algorithm), \
        FIELD("\", \"Protocol\": \"", SCAN_PROTOCOL, operation.protocol)

static const struct scan_field collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS, FIELD("\", \"nChannels\": ", SCAN_NATURAL, operation.channel_count),
    LAST("}}")};
#define COLLECTIVE_CHANNELS FIELD("\", \"nChannels\": ", SCAN_NATURAL, operation.channel_count)
#define COLLECTIVE_KERNEL                            \
    SKIP(", \"KernelVariant\": \"", SCAN_SKIP_TEXT), \
        FIELD("\", \"IsSymColl\": ", SCAN_FLAG, operation.is_symmetric)
#define BUNDLED_COLLECTIVE                                                                                  \
    FIELD(", \"Root\": ", SCAN_NATURAL_OR_NONE, operation.root), SKIP(", \"nWarps\": ", SCAN_SKIP_INTEGER), \
        FIELD(", \"SendBuff\": \"", SCAN_ADDRESS, operation.send_buffer),                                   \
        FIELD("\", \"RecvBuff\": \"", SCAN_ADDRESS, operation.receive_buffer),                              \
        FIELD("\", \"EnqueueEnd\": ", SCAN_MOMENT, operation.enqueue_end_ns)

static const struct scan_field told_collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS, COLLECTIVE_CHANNELS, COLLECTIVE_KERNEL, LAST("}}")};
static const struct scan_field bundled_collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS, COLLECTIVE_CHANNELS, BUNDLED_COLLECTIVE, LAST("}}")};
static const struct scan_field bundled_told_collective_fields[] = {COLLECTIVE_FIELDS,   COLLECTIVE_WORDS,
                                                                   COLLECTIVE_CHANNELS, COLLECTIVE_KERNEL,
                                                                   BUNDLED_COLLECTIVE,  LAST("}}")};
static const struct scan_field bundled_tagged_collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS,   COLLECTIVE_CHANNELS,
    COLLECTIVE_KERNEL, BUNDLED_COLLECTIVE, FIELD(", \"UserTag\": ", SCAN_UNSIGNED, operation.user_tag),
    LAST("}}")};
static const struct scan_field old_collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS,
    FIELD("\", \"nMaxChannels\": ", SCAN_NATURAL, operation.channel_count), LAST("}}")};
static const struct scan_field first_collective_fields[] = {
    COLLECTIVE_FIELDS,
    FIELD(", \"Datatype\": ", SCAN_DATATYPE_NUMBER, operation.datatype),
    FIELD(", \"Algorithm\": \"", SCAN_ALGORITHM, operation.algorithm),
    FIELD("\", \"Protocol\": \"", SCAN_PROTOCOL, operation.protocol),
    FIELD("\", \"nMaxChannels\": ", SCAN_NATURAL, operation.channel_count),
    LAST("}}")};
static const struct form collective_forms[] = {
    FORM(collective_fields, 0),
    FORM(told_collective_fields, CHROME_HINT_PHASES),
    FORM(bundled_collective_fields, 0),
    FORM(bundled_told_collective_fields, CHROME_HINT_PHASES),
    FORM(bundled_tagged_collective_fields, CHROME_HINT_PHASES),
    FORM(old_collective_fields, CHROME_HINT_NO_CHANNELS),
    FORM(first_collective_fields, CHROME_HINT_NO_CHANNELS | CHROME_HINT_NUMERIC_DATATYPE),
    {NULL, 0, 0}};

#define PAIR_FIELDS                                                                   \
    FIELD(", \"args\": {\"CommHash\": ", SCAN_UNSIGNED, operation.communicator_hash), \
        FIELD(", \"Rank\": ", SCAN_NATURAL_OR_NONE, operation.rank),                  \
        FIELD(", \"Peer\": ", SCAN_NATURAL_OR_NONE, operation.peer),                  \
        FIELD(", \"Count\": ", SCAN_NATURAL, operation.count),                        \
        FIELD(", \"Datatype\": \"", SCAN_DATATYPE, operation.datatype)

static const struct scan_field pair_fields[] = {
    PAIR_FIELDS, FIELD("\", \"nChannels\": ", SCAN_NATURAL, operation.channel_count), LAST("}}")};
static const struct scan_field bundled_pair_fields[] = {
    PAIR_FIELDS, FIELD("\", \"nChannels\": ", SCAN_NATURAL, operation.channel_count),
    FIELD(", \"Buff\": \"", SCAN_ADDRESS, operation.send_buffer),
    FIELD("\", \"EnqueueEnd\": ", SCAN_MOMENT, operation.enqueue_end_ns), LAST("}}")};
static const struct scan_field bundled_tagged_pair_fields[] = {
    PAIR_FIELDS,
    FIELD("\", \"nChannels\": ", SCAN_NATURAL, operation.channel_count),
    FIELD(", \"Buff\": \"", SCAN_ADDRESS, operation.send_buffer),
    FIELD("\", \"EnqueueEnd\": ", SCAN_MOMENT, operation.enqueue_end_ns),
    FIELD(", \"UserTag\": ", SCAN_UNSIGNED, operation.user_tag),
    LAST("}}")};
static const struct scan_field old_pair_fields[] = {PAIR_FIELDS, LAST("\"}}")};
static const struct form pair_forms[] = {FORM(pair_fields, 0),
                                         FORM(bundled_pair_fields, 0),
                                         FORM(bundled_tagged_pair_fields, 0),
                                         FORM(old_pair_fields, CHROME_HINT_NO_CHANNELS),
                                         {NULL, 0, 0}};

static const struct scan_field queue_pair_fields[] = {SKIP(", \"args\": {\"device\": ", SCAN_SKIP_INTEGER),
                                                      SKIP(", \"qp_num\": ", SCAN_SKIP_INTEGER),
                                                      SKIP(", \"opcode\": ", SCAN_SKIP_INTEGER),
                                                      SKIP(", \"wr_id\": ", SCAN_SKIP_INTEGER),
                                                      SKIP(", \"size\": ", SCAN_SKIP_INTEGER),
                                                      LAST("}}")};
static const struct scan_field socket_fields[] = {SKIP(", \"args\": {\"sock\": ", SCAN_SKIP_INTEGER),
                                                  SKIP(", \"op\": ", SCAN_SKIP_INTEGER),
                                                  SKIP(", \"size\": ", SCAN_SKIP_INTEGER), LAST("}}")};
static const struct form queue_pair_forms[] = {FORM(queue_pair_fields, 0), {NULL, 0, 0}};
static const struct form socket_forms[] = {FORM(socket_fields, 0), {NULL, 0, 0}};

/* Up to the phase: lines of a fixed name are told by all of it. The most frequent come first. */
struct head {
    const char *words;
    size_t length;
    enum chrome_category category;
    enum chrome_name name;
    const struct form *forms; /* NULL: a network step */
};

#define CATEGORY(category) "\", \"cat\": \"" category "\", \"ph\": \""
#define HEAD(name, category) SCAN_WORDS(BEFORE_NAME name CATEGORY(category))

static const struct head heads[] = {
    {HEAD("RecvWait", "NET"), CHROME_NET, CHROME_RECV_WAIT, NULL},
    {HEAD("RecvFlushWait", "NET"), CHROME_NET, CHROME_RECV_FLUSH_WAIT, NULL},
    {HEAD("RecvGpuWait", "NET"), CHROME_NET, CHROME_RECV_GPU_WAIT, NULL},
    {HEAD("SendGpuWait", "NET"), CHROME_NET, CHROME_SEND_GPU_WAIT, NULL},
    {HEAD("SendPeerWait", "NET"), CHROME_NET, CHROME_SEND_PEER_WAIT, NULL},
    {HEAD("SendWait", "NET"), CHROME_NET, CHROME_SEND_WAIT, NULL},
    {HEAD("SendBufferWait", "NET"), CHROME_NET, CHROME_SEND_BUFFER_WAIT, NULL},
    {HEAD("RecvBufferWait", "NET"), CHROME_NET, CHROME_RECV_BUFFER_WAIT, NULL},
    {HEAD("KernelCh", "GPU"), CHROME_GPU, CHROME_KERNEL_CHANNEL, kernel_forms},
    {HEAD("initial_sync", "GPU"), CHROME_GPU, CHROME_INITIAL_SYNC, phase_forms},
    {HEAD("compute", "GPU"), CHROME_GPU, CHROME_COMPUTE, phase_forms},
    {HEAD("final_sync", "GPU"), CHROME_GPU, CHROME_FINAL_SYNC, phase_forms},
    {HEAD("ScheduleSend", "PROXY"), CHROME_PROXY, CHROME_SCHEDULE_SEND, proxy_forms},
    {HEAD("ScheduleRecv", "PROXY"), CHROME_PROXY, CHROME_SCHEDULE_RECV, proxy_forms},
    {HEAD("ProgressSend", "PROXY"), CHROME_PROXY, CHROME_PROGRESS_SEND, proxy_forms},
    {HEAD("ProgressRecv", "PROXY"), CHROME_PROXY, CHROME_PROGRESS_RECV, proxy_forms},
    {HEAD("Send", "PROXY"), CHROME_PROXY, CHROME_SEND, send_forms},
    {HEAD("Recv", "PROXY"), CHROME_PROXY, CHROME_RECV, receive_forms},
    {HEAD("Group API", "GROUP_API"), CHROME_GROUP_API, CHROME_NAME_OTHER, group_call_forms},
    {HEAD("KernelLaunch", "KERNEL_LAUNCH"), CHROME_KERNEL_LAUNCH, CHROME_NAME_OTHER, launch_forms},
    {HEAD("Group", "GROUP"), CHROME_GROUP, CHROME_NAME_OTHER, group_forms},
    {HEAD("Qp", "NET_IB"), CHROME_NET_PLUGIN, CHROME_NAME_OTHER, queue_pair_forms},
    {HEAD("Sock", "NET_SOCK"), CHROME_NET_PLUGIN, CHROME_NAME_OTHER, socket_forms},
    {HEAD("Append", "PROXY"), CHROME_PROXY, CHROME_PROXY_CONTROL, control_forms},
    {HEAD("Sleep", "PROXY"), CHROME_PROXY, CHROME_PROXY_CONTROL, control_forms},
    {HEAD("Idle", "PROXY"), CHROME_PROXY, CHROME_PROXY_CONTROL, control_forms},
};

enum { HEADS = sizeof heads / sizeof *heads };

/* One more than there are stands for all that are named by what they do. */
_Static_assert((int)HEADS < (int)CHROME_HEADS, "a line of each kind has its follower");

/* ... and those that are named by what they do, by what follows the name. */
static const struct head named_heads[] = {
    {SCAN_WORDS(CATEGORY("COLL")), CHROME_COLL, CHROME_NAME_OTHER, collective_forms},
    {SCAN_WORDS(CATEGORY("COLL_API")), CHROME_COLL_API, CHROME_NAME_OTHER, call_forms},
    {SCAN_WORDS(CATEGORY("P2P")), CHROME_P2P, CHROME_NAME_OTHER, pair_forms},
    {SCAN_WORDS(CATEGORY("P2P_API")), CHROME_P2P_API, CHROME_NAME_OTHER, pair_call_forms},
};

void chrome_scanner_init(struct chrome_scanner *scanner)
{
    *scanner = (struct chrome_scanner){.middle_length = 0};
}

/* A line named by what it does. */
static const char *scan_named_head(const char *at, const char *end, struct chrome_line *line,
                                   const struct head **found)
{
    const struct scan_field name = {SCAN_WORDS(BEFORE_NAME), SCAN_FUNCTION,
                                    offsetof(struct chrome_line, function)};
    const char *past;
    at = scan_fields(at, end, &name, 1, line);
    for (size_t i = 0; at && i < sizeof named_heads / sizeof *named_heads; i++) {
        *found = &named_heads[i];
        if ((past = scan_words(at, end, named_heads[i].words, named_heads[i].length)))
            return past;
    }
    return NULL;
}

/* Tries what came behind such a line the last time, then everything. */
static unsigned find_head(const struct chrome_scanner *scanner, const char *at, const char *end)
{
    unsigned expected = scanner->follower[scanner->latest];
    if (end - at < LINE_LEAST_BYTES)
        return HEADS;
    if (expected < HEADS && scan_same(at, heads[expected].words, heads[expected].length))
        return expected;
    for (unsigned i = 0; i < HEADS; i++)
        if (!scan_difference(at, heads[i].words, sizeof BEFORE_NAME - 1) &&
            scan_same(at, heads[i].words, heads[i].length))
            return i;
    return HEADS;
}

/* Reads up to the phase and past it, and says what kind of line it is. */
static inline const char *scan_head(struct chrome_scanner *scanner, const char *at, const char *end,
                                    struct chrome_line *line, const struct head **found)
{
    unsigned number = find_head(scanner, at, end);
    if (number == HEADS) {
        at = scan_named_head(at, end, line, found);
    } else {
        *found = &heads[number];
        at += heads[number].length;
        line->function = (*found)->category == CHROME_NET || (*found)->category == CHROME_PROXY
                             ? FUNCTION_UNKNOWN
                             : FUNCTION_OTHER;
    }
    if (!at || at == end || ((*found)->forms == phase_forms ? *at != 'X' : *at != 'b' && *at != 'e'))
        return NULL;
    line->category = (*found)->category;
    line->name = (*found)->name;
    line->phase = *at;
    line->hints = 0;
    scanner->follower[scanner->latest] = (unsigned char)number;
    scanner->latest = (unsigned char)(2 * number + (*at == 'e'));
    return at + 1;
}

/* What stands between id and time comes again on every line. */
static inline const char *scan_middle(struct chrome_scanner *scanner, const char *at, const char *end)
{
    static const struct scan_field fields[] = {
        {SCAN_WORDS(", \"pid\": "), SCAN_INTEGER, offsetof(struct chrome_scanner, pid)},
        {SCAN_WORDS(", \"tid\": "), SCAN_SKIP_INTEGER, 0},
        {SCAN_WORDS(", \"ts\": "), SCAN_NOTHING, 0},
    };
    const char *past = NULL;
    if (scanner->middle_length)
        past = scan_words(at, end, scanner->middle, scanner->middle_length);
    if (past)
        return past;
    scanner->middle_length = 0;
    past = scan_fields(at, end, fields, sizeof fields / sizeof *fields, scanner);
    if (past && past - at <= CHROME_REPEAT_BYTES) {
        scanner->middle_length = (size_t)(past - at);
        memcpy(scanner->middle, at, scanner->middle_length);
    }
    return past;
}

/* A wait begins when the one before ended. */
static inline const char *scan_begin_time(const struct chrome_scanner *scanner, const char *at,
                                          const char *end, int64_t *time_ns)
{
    const char *past = NULL;
    if (scanner->time_length)
        past = scan_words(at, end, scanner->time, scanner->time_length);
    if (!past || past == end || *past != ',')
        return scan_moment(at, end, time_ns);
    *time_ns = scanner->time_ns;
    return past;
}

/* The time of an end and the brace behind it. */
static inline const char *scan_end_time(struct chrome_scanner *scanner, const char *at, const char *end,
                                        int64_t *time_ns)
{
    const char *past = scan_moment(at, end, time_ns);
    if (!past || *past != '}')
        return NULL;
    if (end - at >= CHROME_REPEAT_BYTES / 2) {
        memcpy(scanner->time, at, CHROME_REPEAT_BYTES / 2);
        scanner->time_length = (size_t)(past - at);
        scanner->time_ns = *time_ns;
    }
    return past + 1;
}

/* What a form of arguments may leave out. */
static void forget_arguments(struct chrome_line *line)
{
    switch (line->category) {
    case CHROME_COLL:
    case CHROME_P2P:
        line->operation = (struct chrome_operation){.sequence = COUNT_UNKNOWN,
                                                    .rank = COUNT_UNKNOWN,
                                                    .peer = COUNT_UNKNOWN,
                                                    .count = COUNT_UNKNOWN,
                                                    .channel_count = COUNT_UNKNOWN,
                                                    .root = COUNT_UNKNOWN,
                                                    .enqueue_end_ns = TIME_UNKNOWN};
        break;
    case CHROME_COLL_API:
    case CHROME_P2P_API:
    case CHROME_KERNEL_LAUNCH:
        line->api = (struct chrome_api){.count = COUNT_UNKNOWN, .root = COUNT_UNKNOWN};
        break;
    case CHROME_PROXY:
        line->proxy =
            (struct chrome_proxy){.channel = COUNT_UNKNOWN,
                                  .peer = COUNT_UNKNOWN,
                                  .step_count = COUNT_UNKNOWN,
                                  .chunk_bytes = COUNT_UNKNOWN,
                                  .transferred_bytes = COUNT_UNKNOWN,
                                  .has_states = line->name == CHROME_SEND || line->name == CHROME_RECV};
        for (int i = 0; i < PROXY_STATES; i++)
            line->proxy.state[i].at_ns = TIME_UNKNOWN;
        break;
    case CHROME_GPU:
        line->kernel.gpu_begin = line->kernel.gpu_end = 0;
        line->kernel.begin_ns = line->kernel.end_ns = TIME_UNKNOWN;
        line->kernel.phase = COUNT_UNKNOWN;
        break;
    default:
        break;
    }
}

static const char *scan_arguments(const char *at, const char *end, const struct form *forms,
                                  struct chrome_line *line)
{
    for (; forms->fields; forms++) {
        forget_arguments(line);
        const char *past = scan_fields(at, end, forms->fields, forms->count, line);
        if (!past)
            continue;
        line->hints = forms->hints;
        return past;
    }
    return NULL;
}

/* What most lines have. */
static inline const char *scan_step(const char *at, const char *end, int64_t *step)
{
    at = scan_words(at, end, SCAN_WORDS(", \"args\": {\"Step\": "));
    if (at)
        at = scan_not_below(at, end, -1, step);
    return at ? scan_words(at, end, SCAN_WORDS("}}")) : NULL;
}

const char *chrome_scan(struct chrome_scanner *scanner, const char *text, const char *end,
                        struct chrome_line *line)
{
    const struct head *head = NULL;
    const char *at = scan_head(scanner, text, end, line, &head);
    if (at)
        at = scan_words(at, end, SCAN_WORDS("\", \"id\": "));
    if (at)
        at = scan_integer(at, end, &line->id);
    if (at)
        at = scan_middle(scanner, at, end);
    if (!at)
        return NULL;
    line->pid = scanner->pid;
    if (line->phase == 'e')
        return scan_end_time(scanner, at, end, &line->time_ns);
    at = scan_begin_time(scanner, at, end, &line->time_ns);
    if (!at)
        return NULL;
    return head->forms ? scan_arguments(at, end, head->forms, line) : scan_step(at, end, &line->step);
}

/* The line behind the begin: what stood between the line's beginning and its time comes again. */
static inline const char *scan_same_end(const char *begin, size_t phase, size_t time, const char *at,
                                        const char *end)
{
    at = scan_words(at, end, SCAN_WORDS(",\n"));
    if (!at || (size_t)(end - at) < time || at[phase] != 'e' || !scan_same(at, begin, phase) ||
        !scan_same(at + phase + 1, begin + phase + 1, time - phase - 1))
        return NULL;
    return at + time;
}

const char *chrome_scan_wait(struct chrome_scanner *scanner, const char *text, const char *end,
                             struct chrome_line *line, int64_t *end_ns)
{
    unsigned number = scanner->follower[scanner->latest];
    const struct head *head = &heads[number < HEADS ? number : 0];
    const char *at = scan_words(text, end, head->words, head->length);
    if (!at || head->forms || !(at = scan_words(at, end, SCAN_WORDS("b\", \"id\": "))) ||
        !(at = scan_integer(at, end, &line->id)) || !(at = scan_middle(scanner, at, end)))
        return NULL;
    size_t time = (size_t)(at - text);
    if (!(at = scan_begin_time(scanner, at, end, &line->time_ns)) ||
        !(at = scan_step(at, end, &line->step)) || !(at = scan_same_end(text, head->length, time, at, end)) ||
        !(at = scan_end_time(scanner, at, end, end_ns)))
        return NULL;
    line->category = CHROME_NET;
    line->name = head->name;
    line->function = FUNCTION_UNKNOWN;
    line->phase = 'b';
    line->hints = 0;
    line->pid = scanner->pid;
    scanner->latest = (unsigned char)(2 * (head - heads) + 1);
    return at;
}
