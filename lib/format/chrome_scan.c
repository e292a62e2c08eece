#include "format/chrome_scan.h"

#include "format/scan.h"

#include <stddef.h>
#include <string.h>

/*
 * A line is: {"name": "NAME", "cat": "CATEGORY", "ph": "P", "id": N, "pid": N, "tid": 1, "ts": T and then,
 * for an end, }; for a begin, one of the forms of arguments that its category has.
 */
static const char before_name[] = "{\"name\": \"";

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

static const struct scan_field net_fields[] = {FIELD(", \"args\": {\"Step\": ", SCAN_INTEGER, step),
                                               LAST("}}")};
static const struct form net_forms[] = {FORM(net_fields, 0), {NULL, 0, 0}};

#define PROXY_FIELDS                                                  \
    FIELD(", \"args\": {\"Channel\": ", SCAN_INTEGER, proxy.channel), \
        FIELD(", \"Peer\": ", SCAN_INTEGER, proxy.peer),              \
        FIELD(", \"Steps\": ", SCAN_INTEGER, proxy.step_count),       \
        FIELD(", \"ChunkSize\": ", SCAN_INTEGER, proxy.chunk_bytes),  \
        FIELD(", \"transSize\": ", SCAN_INTEGER, proxy.transferred_bytes)
#define STATE_FIELDS(before, which)                                      \
    FIELD(before "{\"step\": ", SCAN_INTEGER, proxy.state[which].steps), \
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
                                                  FIELD(", \"Stream\": \"0x", SCAN_HEXADECIMAL, api.stream),
                                                  LAST("\"}}")};
static const struct scan_field launch_bare_fields[] = {
    SKIP(", \"args\": {\"groupId\": ", SCAN_SKIP_INTEGER),
    FIELD(", \"Stream\": 0x", SCAN_HEXADECIMAL, api.stream), LAST("}}")};
static const struct form launch_forms[] = {
    FORM(launch_fields, 0), FORM(launch_bare_fields, CHROME_HINT_UNQUOTED), {NULL, 0, 0}};

#define CALL_FIELDS                                             \
    FIELD(", \"args\": {\"count\": ", SCAN_INTEGER, api.count), \
        FIELD(", \"datatype\": \"", SCAN_DATATYPE, api.datatype)
#define CALL_BARE_FIELDS                                        \
    FIELD(", \"args\": {\"count\": ", SCAN_INTEGER, api.count), \
        FIELD(", \"datatype\": nccl", SCAN_DATATYPE_WORD, api.datatype)

static const struct scan_field call_fields[] = {
    CALL_FIELDS, FIELD("\", \"root\": ", SCAN_INTEGER, api.root),
    FIELD(", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"0x", SCAN_HEXADECIMAL, api.stream), LAST("\"}}")};
static const struct scan_field call_bare_fields[] = {
    CALL_BARE_FIELDS, FIELD(", \"root\": ", SCAN_INTEGER, api.root),
    FIELD(", \"GraphCaptured\":", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": 0x", SCAN_HEXADECIMAL, api.stream), LAST("}}")};
static const struct scan_field pair_call_fields[] = {
    CALL_FIELDS, FIELD("\", \"GraphCaptured\": ", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": \"0x", SCAN_HEXADECIMAL, api.stream), LAST("\"}}")};
static const struct scan_field pair_call_bare_fields[] = {
    CALL_BARE_FIELDS, FIELD(", \"GraphCaptured\":", SCAN_INTEGER, api.graph_captured),
    FIELD(", \"Stream\": 0x", SCAN_HEXADECIMAL, api.stream), LAST("}}")};
static const struct form call_forms[] = {
    FORM(call_fields, 0), FORM(call_bare_fields, CHROME_HINT_UNQUOTED), {NULL, 0, 0}};
static const struct form pair_call_forms[] = {
    FORM(pair_call_fields, 0), FORM(pair_call_bare_fields, CHROME_HINT_UNQUOTED), {NULL, 0, 0}};

#define COLLECTIVE_FIELDS                                                      \
    FIELD(", \"args\": {\"SeqNum\": ", SCAN_INTEGER, operation.sequence),      \
        FIELD(", \"CommHash\": ", SCAN_UNSIGNED, operation.communicator_hash), \
        FIELD(", \"Rank\": ", SCAN_INTEGER, operation.rank),                   \
        FIELD(", \"Count\": ", SCAN_INTEGER, operation.count)
#define COLLECTIVE_WORDS                                                     \
    FIELD(", \"Datatype\": \"", SCAN_DATATYPE, operation.datatype),          \
        FIELD("\", \"Algorithm\": \"", SCAN_ALGORITHM, operation.algorithm), \
        FIELD("\", \"Protocol\": \"", SCAN_PROTOCOL, operation.protocol)

static const struct scan_field collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS, FIELD("\", \"nChannels\": ", SCAN_INTEGER, operation.channel_count),
    LAST("}}")};
static const struct scan_field bundled_collective_fields[] = {
    COLLECTIVE_FIELDS,
    COLLECTIVE_WORDS,
    FIELD("\", \"nChannels\": ", SCAN_INTEGER, operation.channel_count),
    FIELD(", \"Root\": ", SCAN_INTEGER, operation.root),
    SKIP(", \"nWarps\": ", SCAN_SKIP_INTEGER),
    SKIP(", \"SendBuff\": \"0x", SCAN_SKIP_HEXADECIMAL),
    SKIP("\", \"RecvBuff\": \"0x", SCAN_SKIP_HEXADECIMAL),
    FIELD("\", \"EnqueueEnd\": ", SCAN_MOMENT, operation.enqueue_end_ns),
    LAST("}}")};
static const struct scan_field old_collective_fields[] = {
    COLLECTIVE_FIELDS, COLLECTIVE_WORDS,
    FIELD("\", \"nMaxChannels\": ", SCAN_INTEGER, operation.channel_count), LAST("}}")};
static const struct scan_field first_collective_fields[] = {
    COLLECTIVE_FIELDS,
    FIELD(", \"Datatype\": ", SCAN_DATATYPE_NUMBER, operation.datatype),
    FIELD(", \"Algorithm\": \"", SCAN_ALGORITHM, operation.algorithm),
    FIELD("\", \"Protocol\": \"", SCAN_PROTOCOL, operation.protocol),
    FIELD("\", \"nMaxChannels\": ", SCAN_INTEGER, operation.channel_count),
    LAST("}}")};
static const struct form collective_forms[] = {
    FORM(collective_fields, 0),
    FORM(bundled_collective_fields, 0),
    FORM(old_collective_fields, CHROME_HINT_NO_CHANNELS),
    FORM(first_collective_fields, CHROME_HINT_NO_CHANNELS | CHROME_HINT_NUMERIC_DATATYPE),
    {NULL, 0, 0}};

#define PAIR_FIELDS                                                                   \
    FIELD(", \"args\": {\"CommHash\": ", SCAN_UNSIGNED, operation.communicator_hash), \
        FIELD(", \"Rank\": ", SCAN_INTEGER, operation.rank),                          \
        FIELD(", \"Peer\": ", SCAN_INTEGER, operation.peer),                          \
        FIELD(", \"Count\": ", SCAN_INTEGER, operation.count),                        \
        FIELD(", \"Datatype\": \"", SCAN_DATATYPE, operation.datatype)

static const struct scan_field pair_fields[] = {
    PAIR_FIELDS, FIELD("\", \"nChannels\": ", SCAN_INTEGER, operation.channel_count), LAST("}}")};
static const struct scan_field bundled_pair_fields[] = {
    PAIR_FIELDS, FIELD("\", \"nChannels\": ", SCAN_INTEGER, operation.channel_count),
    SKIP(", \"Buff\": \"0x", SCAN_SKIP_HEXADECIMAL),
    FIELD("\", \"EnqueueEnd\": ", SCAN_MOMENT, operation.enqueue_end_ns), LAST("}}")};
static const struct scan_field old_pair_fields[] = {PAIR_FIELDS, LAST("\"}}")};
static const struct form pair_forms[] = {FORM(pair_fields, 0),
                                         FORM(bundled_pair_fields, 0),
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

/* From the name to the phase: lines of a fixed name are told by all of it. The most frequent come first. */
struct head {
    const char *words;
    size_t length;
    enum chrome_category category;
    enum chrome_name name;
    const struct form *forms;
};

#define HEAD(name, category) SCAN_WORDS(name "\", \"cat\": \"" category "\", \"ph\": \"")

static const struct head heads[] = {
    {HEAD("RecvWait", "NET"), CHROME_NET, CHROME_RECV_WAIT, net_forms},
    {HEAD("RecvFlushWait", "NET"), CHROME_NET, CHROME_RECV_FLUSH_WAIT, net_forms},
    {HEAD("RecvGpuWait", "NET"), CHROME_NET, CHROME_RECV_GPU_WAIT, net_forms},
    {HEAD("SendGpuWait", "NET"), CHROME_NET, CHROME_SEND_GPU_WAIT, net_forms},
    {HEAD("SendPeerWait", "NET"), CHROME_NET, CHROME_SEND_PEER_WAIT, net_forms},
    {HEAD("SendWait", "NET"), CHROME_NET, CHROME_SEND_WAIT, net_forms},
    {HEAD("SendBufferWait", "NET"), CHROME_NET, CHROME_SEND_BUFFER_WAIT, net_forms},
    {HEAD("RecvBufferWait", "NET"), CHROME_NET, CHROME_RECV_BUFFER_WAIT, net_forms},
    {HEAD("KernelCh", "GPU"), CHROME_GPU, CHROME_NAME_OTHER, kernel_forms},
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
    {HEAD("Append", "PROXY"), CHROME_PROXY, CHROME_NAME_OTHER, control_forms},
    {HEAD("Sleep", "PROXY"), CHROME_PROXY, CHROME_NAME_OTHER, control_forms},
    {HEAD("Idle", "PROXY"), CHROME_PROXY, CHROME_NAME_OTHER, control_forms},
};

/* ... and those that are named by what they do, by what follows the name. */
static const struct head named_heads[] = {
    {HEAD("", "COLL"), CHROME_COLL, CHROME_NAME_OTHER, collective_forms},
    {HEAD("", "COLL_API"), CHROME_COLL_API, CHROME_NAME_OTHER, call_forms},
    {HEAD("", "P2P"), CHROME_P2P, CHROME_NAME_OTHER, pair_forms},
    {HEAD("", "P2P_API"), CHROME_P2P_API, CHROME_NAME_OTHER, pair_call_forms},
};

void chrome_scanner_init(struct chrome_scanner *scanner)
{
    *scanner = (struct chrome_scanner){.middle = {.length = 0}};
}

static const char *take_head(const struct head *head, const char *at, const char *end,
                             struct chrome_line *line)
{
    at = scan_words(at, end, head->words, head->length);
    line->category = head->category;
    line->name = head->name;
    return at;
}

/* Reads up to the phase and says which forms of arguments there are. */
static const char *scan_head(const char *at, const char *end, struct chrome_line *line,
                             const struct form **forms)
{
    uint64_t first;
    uint64_t wanted;
    const char *past;
    if (end - at < 64) /* no line is shorter, and the first eight bytes of a name can be had at once */
        return NULL;
    memcpy(&first, at, sizeof first);
    for (const struct head *head = heads; head < heads + sizeof heads / sizeof *heads; head++) {
        memcpy(&wanted, head->words, sizeof wanted);
        if (first != wanted || !(past = take_head(head, at, end, line)))
            continue;
        line->function = head->category == CHROME_NET || head->category == CHROME_PROXY ? FUNCTION_UNKNOWN
                                                                                        : FUNCTION_OTHER;
        *forms = head->forms;
        return past;
    }
    const struct scan_field name = {"", 0, SCAN_FUNCTION, offsetof(struct chrome_line, function)};
    at = scan_fields(at, end, &name, 1, line);
    for (const struct head *head = named_heads;
         at && head < named_heads + sizeof named_heads / sizeof *named_heads; head++) {
        *forms = head->forms;
        if ((past = take_head(head, at, end, line)))
            return past;
    }
    return NULL;
}

static const char *take_repeated(const struct chrome_repeat *repeat, const char *at, const char *end)
{
    return repeat->length ? scan_words(at, end, repeat->text, repeat->length) : NULL;
}

static void remember(struct chrome_repeat *repeat, const char *at, const char *past)
{
    size_t length = (size_t)(past - at);
    repeat->length = length <= sizeof repeat->text ? length : 0;
    memcpy(repeat->text, at, repeat->length);
}

/* id, pid and tid: the lines of a network step share them. */
static const char *scan_middle(struct chrome_scanner *scanner, const char *at, const char *end)
{
    static const struct scan_field fields[] = {
        {SCAN_WORDS("\", \"id\": "), SCAN_INTEGER, offsetof(struct chrome_scanner, id)},
        {SCAN_WORDS(", \"pid\": "), SCAN_INTEGER, offsetof(struct chrome_scanner, pid)},
        {SCAN_WORDS(", \"tid\": "), SCAN_SKIP_INTEGER, 0},
        {SCAN_WORDS(", \"ts\": "), SCAN_NOTHING, 0},
    };
    const char *past = take_repeated(&scanner->middle, at, end);
    if (past)
        return past;
    scanner->middle.length = 0;
    past = scan_fields(at, end, fields, sizeof fields / sizeof *fields, scanner);
    if (past)
        remember(&scanner->middle, at, past);
    return past;
}

/* A wait begins when the one before ended. */
static const char *scan_time(struct chrome_scanner *scanner, const char *at, const char *end)
{
    const char *past = take_repeated(&scanner->time, at, end);
    if (past && past < end && (*past == ',' || *past == '}'))
        return past;
    scanner->time.length = 0;
    past = scan_moment(at, end, &scanner->time_ns);
    if (past)
        remember(&scanner->time, at, past);
    return past;
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
        break;
    default:
        break;
    }
}

static int scan_arguments(const char *at, const char *end, const struct form *forms, struct chrome_line *line)
{
    for (; forms->fields; forms++) {
        forget_arguments(line);
        if (scan_fields(at, end, forms->fields, forms->count, line) == end) {
            line->hints = forms->hints;
            return 1;
        }
    }
    return 0;
}

int chrome_scan(struct chrome_scanner *scanner, const char *text, size_t length, struct chrome_line *line)
{
    const char *end = text + length;
    const struct form *forms = NULL;
    const char *at = scan_words(text, end, before_name, sizeof before_name - 1);
    if (!at || !(at = scan_head(at, end, line, &forms)) || at == end)
        return 0;
    line->phase = *at++;
    line->hints = 0;
    if ((line->phase != 'b' && line->phase != 'e') || !(at = scan_middle(scanner, at, end)) ||
        !(at = scan_time(scanner, at, end)))
        return 0;
    line->id = scanner->id;
    line->pid = scanner->pid;
    line->time_ns = scanner->time_ns;
    if (line->phase == 'e')
        return end - at == 1 && *at == '}';
    return scan_arguments(at, end, forms, line);
}
