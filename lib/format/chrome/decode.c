/*
 * Reads one line of a Chrome trace from any JSON, and the two known kinds of invalid JSON that NCCL's plugins
 * print. Slow, but complete; scan.c reads most lines.
 */
#include "base/base.h"
#include "format/chrome/chrome.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <string.h>

struct word {
    const char *text;
    int number;
};

static const struct word categories[] = {
    {"NET", CHROME_NET},
    {"PROXY", CHROME_PROXY},
    {"GPU", CHROME_GPU},
    {"COLL", CHROME_COLL},
    {"P2P", CHROME_P2P},
    {"COLL_API", CHROME_COLL_API},
    {"P2P_API", CHROME_P2P_API},
    {"GROUP", CHROME_GROUP},
    {"GROUP_API", CHROME_GROUP_API},
    {"KERNEL_LAUNCH", CHROME_KERNEL_LAUNCH},
    {"CE_COLL", CHROME_CE_COLL},
    {"CE_SYNC", CHROME_CE_PART},
    {"CE_BATCH", CHROME_CE_PART},
    {"NET_IB", CHROME_NET_PLUGIN},
    {"NET_SOCK", CHROME_NET_PLUGIN},
    {"USER_TAG", CHROME_USER_TAG},
    {"NCCLPROF", CHROME_NCCLPROF},
    {NULL, CHROME_OTHER},
};

static const struct word proxy_names[] = {
    {"Send", CHROME_SEND},
    {"Recv", CHROME_RECV},
    {"ScheduleSend", CHROME_SCHEDULE_SEND},
    {"ScheduleRecv", CHROME_SCHEDULE_RECV},
    {"ProgressSend", CHROME_PROGRESS_SEND},
    {"ProgressRecv", CHROME_PROGRESS_RECV},
    {"Idle", CHROME_PROXY_CONTROL},
    {"Sleep", CHROME_PROXY_CONTROL},
    {"Append", CHROME_PROXY_CONTROL},
    {NULL, CHROME_NAME_OTHER},
};

static const struct word wait_names[] = {
    {"SendBufferWait", CHROME_SEND_BUFFER_WAIT},
    {"SendGpuWait", CHROME_SEND_GPU_WAIT},
    {"SendPeerWait", CHROME_SEND_PEER_WAIT},
    {"SendWait", CHROME_SEND_WAIT},
    {"RecvBufferWait", CHROME_RECV_BUFFER_WAIT},
    {"RecvWait", CHROME_RECV_WAIT},
    {"RecvFlushWait", CHROME_RECV_FLUSH_WAIT},
    {"RecvGpuWait", CHROME_RECV_GPU_WAIT},
    {NULL, CHROME_NAME_OTHER},
};

static const struct word note_names[] = {
    {"Process", CHROME_PROCESS},
    {"Place", CHROME_PLACE},
    {"Communicator", CHROME_COMMUNICATOR},
    {"ClockAnchor", CHROME_CLOCK_ANCHOR},
    {"Drops", CHROME_DROPS},
    {"PendingOperation", CHROME_PENDING_OPERATION},
    {"CallDescription", CHROME_CALL_DESCRIPTION},
    {"Stopped", CHROME_STOPPED},
    {NULL, CHROME_NAME_OTHER},
};

static const struct word kernel_names[] = {
    {"KernelCh", CHROME_KERNEL_CHANNEL}, {"initial_sync", CHROME_INITIAL_SYNC},
    {"compute", CHROME_COMPUTE},         {"final_sync", CHROME_FINAL_SYNC},
    {NULL, CHROME_NAME_OTHER},
};

static int find_word(const struct word *words, const char *text)
{
    while (words->text && (!text || strcmp(words->text, text) != 0))
        words++;
    return words->number;
}

#define IN(category) (1U << CHROME_##category)
#define IN_ALL (~0U)
#define IN_OPERATIONS (IN(COLL) | IN(P2P))
#define IN_CALLS (IN(COLL_API) | IN(P2P_API) | IN(KERNEL_LAUNCH))
#define ROW(categories, place, key, type, member)                                             \
    {                                                                                         \
        categories, CHROME_IN_##place, key, SCAN_##type, offsetof(struct chrome_line, member) \
    }
#define STATE_ROWS(place, which)                                      \
    ROW(IN(PROXY), place, "step", NATURAL, proxy.state[which].steps), \
        ROW(IN(PROXY), place, "ts", MOMENT, proxy.state[which].at_ns)

/*
 * The members of events that are read, for the decoder and the scanner. If two rows fill the same place, the
 * last counts.
 */
static const struct chrome_member members[] = {
    ROW(IN_ALL, EVENT, "id", INTEGER, id),
    ROW(IN_ALL, EVENT, "pid", INTEGER, pid),
    ROW(IN_ALL, EVENT, "ts", MOMENT, time_ns),

    ROW(IN_OPERATIONS, ARGUMENTS, "SeqNum", NATURAL, operation.sequence),
    ROW(IN_OPERATIONS, ARGUMENTS, "CommHash", UNSIGNED, operation.communicator_hash),
    ROW(IN_OPERATIONS, ARGUMENTS, "Rank", NATURAL_OR_NONE, operation.rank),
    ROW(IN_OPERATIONS, ARGUMENTS, "Peer", NATURAL_OR_NONE, operation.peer),
    ROW(IN_OPERATIONS, ARGUMENTS, "Count", NATURAL, operation.count),
    ROW(IN_OPERATIONS, ARGUMENTS, "nMaxChannels", NATURAL, operation.channel_count),
    ROW(IN_OPERATIONS, ARGUMENTS, "nChannels", NATURAL, operation.channel_count),
    ROW(IN_OPERATIONS, ARGUMENTS, "Datatype", DATATYPE, operation.datatype),
    ROW(IN_OPERATIONS, ARGUMENTS, "Algorithm", ALGORITHM, operation.algorithm),
    ROW(IN_OPERATIONS, ARGUMENTS, "Protocol", PROTOCOL, operation.protocol),
    ROW(IN_OPERATIONS, ARGUMENTS, "Root", NATURAL_OR_NONE, operation.root),
    ROW(IN_OPERATIONS, ARGUMENTS, "EnqueueEnd", MOMENT, operation.enqueue_end_ns),
    ROW(IN_OPERATIONS, ARGUMENTS, "SendBuff", ADDRESS, operation.send_buffer),
    ROW(IN_OPERATIONS, ARGUMENTS, "Buff", ADDRESS, operation.send_buffer),
    ROW(IN_OPERATIONS, ARGUMENTS, "RecvBuff", ADDRESS, operation.receive_buffer),
    ROW(IN_OPERATIONS, ARGUMENTS, "Unfinished", FLAG, operation.unfinished),
    ROW(IN_OPERATIONS, ARGUMENTS, "UserTag", UNSIGNED, operation.user_tag),
    ROW(IN_OPERATIONS, ARGUMENTS, "IsSymColl", FLAG, operation.is_symmetric),

    ROW(IN_CALLS, ARGUMENTS, "count", NATURAL, api.count),
    ROW(IN_CALLS, ARGUMENTS, "datatype", DATATYPE, api.datatype),
    ROW(IN_CALLS, ARGUMENTS, "root", NATURAL_OR_NONE, api.root),
    ROW(IN_CALLS, ARGUMENTS, "GraphCaptured", INTEGER, api.graph_captured),
    ROW(IN_CALLS, ARGUMENTS, "Stream", ADDRESS, api.stream),
    ROW(IN_CALLS, ARGUMENTS, "UserTag", UNSIGNED, api.user_tag),

    ROW(IN(PROXY), ARGUMENTS, "Channel", NATURAL, proxy.channel),
    ROW(IN(PROXY), ARGUMENTS, "Peer", NATURAL_OR_NONE, proxy.peer),
    ROW(IN(PROXY), ARGUMENTS, "Steps", NATURAL, proxy.step_count),
    ROW(IN(PROXY), ARGUMENTS, "ChunkSize", NATURAL, proxy.chunk_bytes),
    ROW(IN(PROXY), ARGUMENTS, "transSize", NATURAL, proxy.transferred_bytes),
    ROW(IN(PROXY), ARGUMENTS, "OriginPid", NATURAL, proxy.origin_pid),
    ROW(IN(PROXY), ARGUMENTS, "OriginRank", NATURAL, proxy.origin_rank),
    STATE_ROWS(POSTED, STATE_POSTED),
    STATE_ROWS(PEER_WAIT, STATE_PEER),
    STATE_ROWS(RECEIVED, STATE_PEER),
    STATE_ROWS(TRANSMITTED, STATE_TRANSMITTED),
    STATE_ROWS(DONE, STATE_DONE),

    ROW(IN(NET), ARGUMENTS, "Step", NATURAL_OR_NONE, step),

    ROW(IN(GPU), ARGUMENTS, "Channel", INTEGER, kernel.channel),
    ROW(IN(GPU), ARGUMENTS, "StartGpuClk", UNSIGNED, kernel.gpu_begin),
    ROW(IN(GPU), ARGUMENTS, "StopGpuClk", UNSIGNED, kernel.gpu_end),
    ROW(IN(GPU), ARGUMENTS, "PhaseId", NATURAL_OR_NONE, kernel.phase),
    ROW(IN(GPU), ARGUMENTS, "StartHost", MOMENT, kernel.begin_ns),
    ROW(IN(GPU), ARGUMENTS, "StopHost", MOMENT, kernel.end_ns),

    ROW(IN(CE_COLL), ARGUMENTS, "count", NATURAL, copy.count),
    ROW(IN(CE_COLL), ARGUMENTS, "datatype", DATATYPE, copy.datatype),
    ROW(IN(CE_COLL), ARGUMENTS, "SeqNum", NATURAL, copy.sequence),
    ROW(IN(CE_COLL), ARGUMENTS, "CommHash", UNSIGNED, copy.communicator_hash),
    ROW(IN(CE_COLL), ARGUMENTS, "Rank", NATURAL_OR_NONE, copy.rank),
    ROW(IN(CE_COLL), ARGUMENTS, "UserTag", UNSIGNED, copy.user_tag),
};

enum { MEMBERS = sizeof members / sizeof *members };

const struct chrome_member *chrome_find_member(enum chrome_category category, enum chrome_place place,
                                               struct raw_json key)
{
    for (const struct chrome_member *member = members; member < members + MEMBERS; member++)
        if (member->categories & (1U << category) && member->place == place && raw_json_is(key, member->key))
            return member;
    return NULL;
}

static const struct {
    const char *key;
    enum chrome_place outside;
} places[CHROME_PLACES] = {
    [CHROME_IN_EVENT] = {NULL, CHROME_IN_EVENT},
    [CHROME_IN_ARGUMENTS] = {"args", CHROME_IN_EVENT},
    [CHROME_IN_POSTED] = {"POSTED", CHROME_IN_ARGUMENTS},
    [CHROME_IN_PEER_WAIT] = {"REM_FIFO_WAIT", CHROME_IN_ARGUMENTS},
    [CHROME_IN_RECEIVED] = {"RECEIVED", CHROME_IN_ARGUMENTS},
    [CHROME_IN_TRANSMITTED] = {"TRANSMITTED", CHROME_IN_ARGUMENTS},
    [CHROME_IN_DONE] = {"DONE", CHROME_IN_ARGUMENTS},
};

enum chrome_place chrome_find_place(enum chrome_place outside, struct raw_json key)
{
    for (int i = CHROME_IN_ARGUMENTS; i < CHROME_PLACES; i++)
        if (places[i].outside == outside && raw_json_is(key, places[i].key))
            return (enum chrome_place)i;
    return CHROME_PLACES;
}

/* In operations, a number as datatype identifies the dialect. */
static enum datatype read_datatype(struct json *json, const struct value *object, const char *key,
                                   struct chrome_line *line)
{
    const char *text = json_text(json_member(object, key));
    int64_t number;
    if (text)
        return datatype_from_text(text, strlen(text));
    number = member_integer(json, object, key, COUNT_UNKNOWN);
    if (number == COUNT_UNKNOWN)
        return DATATYPE_UNKNOWN;
    if (line->category == CHROME_COLL || line->category == CHROME_P2P)
        line->hints |= CHROME_HINT_NUMERIC_DATATYPE;
    return datatype_from_nccl(number);
}

/* "(nil)", which is not a number, is 0. */
static uint64_t read_address(struct json *json, const struct value *object, const char *key)
{
    const char *text = json_text(json_member(object, key));
    return text && strcmp(text, "(nil)") == 0 ? 0 : member_hexadecimal(json, object, key);
}

/* Stores a member as its row says. An absent member is unknown or keeps its value. */
static void read_member(struct json *json, const struct value *object, const struct chrome_member *member,
                        struct chrome_line *line)
{
    const char *key = member->key, *text;
    void *into = (char *)line + member->offset;
    switch (member->type) {
    case SCAN_INTEGER:
        *(int64_t *)into = member_integer(json, object, key, *(int64_t *)into);
        break;
    case SCAN_NATURAL:
        *(int64_t *)into = member_natural(json, object, key, *(int64_t *)into);
        break;
    case SCAN_NATURAL_OR_NONE:
        *(int64_t *)into = member_natural_or_none(json, object, key);
        break;
    case SCAN_UNSIGNED:
        *(uint64_t *)into = member_unsigned(json, object, key);
        break;
    case SCAN_MOMENT:
        *(int64_t *)into = member_moment(json, object, key);
        break;
    case SCAN_FLAG:
        *(int *)into = member_integer(json, object, key, 0) != 0;
        break;
    case SCAN_DATATYPE:
        *(enum datatype *)into = read_datatype(json, object, key, line);
        break;
    case SCAN_ADDRESS:
        if (json_member(object, key))
            *(uint64_t *)into = read_address(json, object, key);
        break;
    case SCAN_ALGORITHM:
        text = member_text(json, object, key);
        *(enum algorithm *)into = algorithm_from_text(text ? text : "", text ? strlen(text) : 0);
        break;
    case SCAN_PROTOCOL:
        text = member_text(json, object, key);
        *(enum protocol *)into = protocol_from_text(text ? text : "", text ? strlen(text) : 0);
        break;
    default:
        break;
    }
}

static void read_members(struct json *json, enum chrome_place place, const struct value *object,
                         struct chrome_line *line)
{
    for (const struct chrome_member *member = members; member < members + MEMBERS; member++)
        if (member->categories & (1U << line->category) && member->place == place)
            read_member(json, object, member, line);
}

static void read_operation(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    line->operation = (struct chrome_operation){
        .sequence = COUNT_UNKNOWN, .count = COUNT_UNKNOWN, .channel_count = COUNT_UNKNOWN};
    read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
    if (!json_member(arguments, "nChannels"))
        line->hints |= CHROME_HINT_NO_CHANNELS;
    if (json_member(arguments, "IsSymColl"))
        line->hints |= CHROME_HINT_PHASES;
}

static void read_api(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    line->api = (struct chrome_api){.count = COUNT_UNKNOWN, .root = COUNT_UNKNOWN};
    read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
}

static void read_proxy(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    line->proxy = (struct chrome_proxy){.channel = COUNT_UNKNOWN,
                                        .step_count = COUNT_UNKNOWN,
                                        .chunk_bytes = COUNT_UNKNOWN,
                                        .transferred_bytes = COUNT_UNKNOWN};
    for (int i = 0; i < PROXY_STATES; i++)
        line->proxy.state[i].at_ns = TIME_UNKNOWN;
    read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
    for (int i = CHROME_IN_POSTED; i < CHROME_PLACES; i++) {
        const struct value *state = member_object(json, arguments, places[i].key);
        line->proxy.has_states |= state != NULL;
        if (state)
            read_members(json, (enum chrome_place)i, state, line);
    }
}

/* Durations are printed as "%f" on the host's clock and as whole microseconds on the GPU's. */
static void read_copy(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    const char *timing = member_text(json, arguments, "timing");
    const char *key = json_member(arguments, "duration_gpu_us") ? "duration_gpu_us" : "duration_cpu_us";
    line->copy = (struct chrome_copy){.count = COUNT_UNKNOWN,
                                      .duration_ns = member_nanoseconds(json, arguments, key, COUNT_UNKNOWN),
                                      .sequence = COUNT_UNKNOWN,
                                      .is_enqueue = timing && strcmp(timing, "enqueue") == 0};
    read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
}

static void read_kernel(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    line->kernel.channel = COUNT_UNKNOWN;
    read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
    if (line->phase == 'X')
        line->hints |= CHROME_HINT_PHASES;
}

static void read_tag(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    const char *text = member_text(json, arguments, "tag");
    line->tag.text = text ? text : "";
    line->tag.length = strlen(line->tag.text);
    line->tag.rank = member_natural_or_none(json, arguments, "rank");
    line->tag.depth = member_natural(json, arguments, "depth", 0);
    line->tag.communicator_hash = member_unsigned(json, arguments, "CommHash");
    line->tag.has_source = json_member(arguments, "source") != NULL;
    line->tag.number = member_unsigned(json, arguments, "number");
}

static void read_arguments(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    switch (line->category) {
    case CHROME_COLL:
    case CHROME_P2P:
        read_operation(json, arguments, line);
        break;
    case CHROME_COLL_API:
    case CHROME_P2P_API:
    case CHROME_KERNEL_LAUNCH:
        read_api(json, arguments, line);
        break;
    case CHROME_PROXY:
        read_proxy(json, arguments, line);
        break;
    case CHROME_NET:
        read_members(json, CHROME_IN_ARGUMENTS, arguments, line);
        break;
    case CHROME_GPU:
        read_kernel(json, arguments, line);
        break;
    case CHROME_CE_COLL:
        read_copy(json, arguments, line);
        break;
    case CHROME_USER_TAG:
        read_tag(json, arguments, line);
        break;
    case CHROME_NCCLPROF:
        line->arguments = arguments;
        break;
    default:
        break;
    }
}

static void read_name(const char *name, struct chrome_line *line)
{
    line->name = CHROME_NAME_OTHER;
    line->function = FUNCTION_UNKNOWN;
    if (line->category == CHROME_PROXY)
        line->name = (enum chrome_name)find_word(proxy_names, name);
    else if (line->category == CHROME_NET)
        line->name = (enum chrome_name)find_word(wait_names, name);
    else if (line->category == CHROME_NCCLPROF)
        line->name = (enum chrome_name)find_word(note_names, name);
    else if (name)
        line->function = function_from_text(name, strlen(name));
    if (line->category == CHROME_USER_TAG && name && strcmp(name, "TagName") == 0)
        line->name = CHROME_TAG_NAME;
    if (line->category == CHROME_GPU)
        line->name = (enum chrome_name)find_word(kernel_names, name);
}

int chrome_reads_arguments(const struct chrome_line *line)
{
    return line->phase == 'b' || line->phase == 'i' || line->phase == 'M' ||
           line->category == CHROME_NCCLPROF || (line->phase == 'X' && line->category == CHROME_GPU);
}

static void read_event(struct json *json, const struct value *event, struct chrome_line *line)
{
    const char *phase = member_text(json, event, "ph");
    line->category = (enum chrome_category)find_word(categories, member_text(json, event, "cat"));
    line->phase = '\0';
    if (phase && phase[0] != '\0' && phase[1] == '\0')
        line->phase = phase[0];
    line->id = line->pid = COUNT_UNKNOWN;
    read_members(json, CHROME_IN_EVENT, event, line);
    read_name(member_text(json, event, "name"), line);
    if (chrome_reads_arguments(line))
        read_arguments(json, member_object(json, event, "args"), line);
}

/*
 * A tag is printed as the application gave it, with its quotes and backslashes: it is the text between the
 * fixed words before and after it. The `tag` of such a line points into `text`.
 */
static const char tag_head[] = "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", ";
static const char tag_before[] = ", \"args\": {\"tag\": \"";
static const char tag_after[] = "\", \"rank\": ";

static const char *find_last(const char *text, size_t length, const char *what)
{
    const char *last = NULL;
    const char *end = text + length;
    const char *at;
    while ((at = memmem(text, (size_t)(end - text), what, strlen(what)))) {
        last = at;
        text = at + 1;
    }
    return last;
}

/*
 * Only the rank and the closing braces follow. Lines of the bundled plugin have more members, and escaped
 * tags.
 */
static int ends_with_rank(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    while (at < end && is_digit(*at))
        at++;
    return end - at == 2 && at[0] == '}' && at[1] == '}';
}

/* Parses the line without the tag. */
static enum json_status parse_around_tag(struct json *json, const char *text, const char *tag,
                                         const char *tag_end, const char *end)
{
    buffer_clear(&json->mended);
    if (buffer_append(&json->mended, text, (size_t)(tag - text)) ||
        buffer_append(&json->mended, tag_end, (size_t)(end - tag_end)))
        return JSON_NO_MEMORY;
    return json_parse(json, json->mended.data, json->mended.length);
}

static enum json_status parse_raw_tag(struct json *json, const char *text, size_t length, const char **tag,
                                      size_t *tag_length)
{
    if (length < sizeof tag_head - 1 || memcmp(text, tag_head, sizeof tag_head - 1) != 0)
        return JSON_INVALID;
    const char *before = memmem(text, length, tag_before, sizeof tag_before - 1);
    if (!before)
        return JSON_INVALID;
    *tag = before + sizeof tag_before - 1;
    const char *after = find_last(*tag, (size_t)(text + length - *tag), tag_after);
    if (!after || !ends_with_rank(after + sizeof tag_after - 1, text + length))
        return JSON_INVALID;
    *tag_length = (size_t)(after - *tag);
    return parse_around_tag(json, text, *tag, after, text + length);
}

static enum chrome_status failure(enum json_status status)
{
    return status == JSON_NO_MEMORY ? CHROME_NO_MEMORY : CHROME_UNREADABLE;
}

enum chrome_status chrome_decode(struct json *json, const char *text, size_t length, struct chrome_line *line)
{
    const char *tag = NULL;
    size_t tag_length = 0;
    line->hints = 0;
    enum json_status status = parse_raw_tag(json, text, length, &tag, &tag_length);
    if (status == JSON_INVALID) {
        tag = NULL;
        status = json_parse(json, text, length);
    }
    if (status == JSON_INVALID) {
        line->hints |= CHROME_HINT_UNQUOTED;
        status = json_parse_lenient(json, text, length);
    }
    if (status != JSON_OK || json->root.kind != VALUE_DICTIONARY)
        return failure(status);
    read_event(json, &json->root, line);
    if (tag && line->category == CHROME_USER_TAG) {
        line->tag.text = tag;
        line->tag.length = tag_length;
        json->misread |= memchr(tag, '\0', tag_length) != NULL;
    }
    return CHROME_LINE;
}
