#include "format/chrome/decode.h"

#include "format/member.h"

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

static enum datatype read_datatype(struct json *json, const struct value *arguments, const char *key,
                                   unsigned *hints)
{
    const char *text = json_text(json_member(arguments, key));
    int64_t number;
    if (text)
        return datatype_from_text(text, strlen(text));
    number = member_integer(json, arguments, key, COUNT_UNKNOWN);
    if (number == COUNT_UNKNOWN)
        return DATATYPE_UNKNOWN;
    *hints |= CHROME_HINT_NUMERIC_DATATYPE;
    return datatype_from_nccl(number);
}

/* "(nil)" is no number and 0 as well. */
static uint64_t read_address(struct json *json, const struct value *arguments, const char *key)
{
    const char *text = json_text(json_member(arguments, key));
    return text && strcmp(text, "(nil)") == 0 ? 0 : member_hexadecimal(json, arguments, key);
}

static void read_buffers(struct json *json, const struct value *arguments, struct chrome_operation *operation)
{
    const char *send = json_member(arguments, "Buff") ? "Buff" : "SendBuff";
    operation->send_buffer = read_address(json, arguments, send);
    operation->receive_buffer = read_address(json, arguments, "RecvBuff");
}

static void read_operation(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    struct chrome_operation *operation = &line->operation;
    const char *algorithm = member_text(json, arguments, "Algorithm");
    const char *protocol = member_text(json, arguments, "Protocol");
    int64_t most = member_natural(json, arguments, "nMaxChannels", COUNT_UNKNOWN);
    operation->sequence = member_natural(json, arguments, "SeqNum", COUNT_UNKNOWN);
    operation->communicator_hash = member_unsigned(json, arguments, "CommHash");
    operation->rank = member_natural_or_none(json, arguments, "Rank");
    operation->peer = member_natural_or_none(json, arguments, "Peer");
    operation->count = member_natural(json, arguments, "Count", COUNT_UNKNOWN);
    operation->channel_count = member_natural(json, arguments, "nChannels", most);
    operation->datatype = read_datatype(json, arguments, "Datatype", &line->hints);
    operation->algorithm = algorithm_from_text(algorithm ? algorithm : "", algorithm ? strlen(algorithm) : 0);
    operation->protocol = protocol_from_text(protocol ? protocol : "", protocol ? strlen(protocol) : 0);
    operation->root = member_natural_or_none(json, arguments, "Root");
    operation->enqueue_end_ns = member_moment(json, arguments, "EnqueueEnd");
    read_buffers(json, arguments, operation);
    operation->unfinished = member_integer(json, arguments, "Unfinished", 0) != 0;
    operation->user_tag = member_unsigned(json, arguments, "UserTag");
    operation->is_symmetric = member_integer(json, arguments, "IsSymColl", 0) != 0;
    if (!json_member(arguments, "nChannels"))
        line->hints |= CHROME_HINT_NO_CHANNELS;
    if (json_member(arguments, "IsSymColl"))
        line->hints |= CHROME_HINT_PHASES;
}

static void read_api(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    unsigned ignored = 0;
    line->api = (struct chrome_api){
        .count = member_natural(json, arguments, "count", COUNT_UNKNOWN),
        .datatype = read_datatype(json, arguments, "datatype", &ignored),
        .root = member_natural_or_none(json, arguments, "root"),
        .graph_captured = member_integer(json, arguments, "GraphCaptured", 0),
        .stream = read_address(json, arguments, "Stream"),
        .user_tag = member_unsigned(json, arguments, "UserTag"),
    };
}

static void read_state(struct json *json, const struct value *arguments, const char *key,
                       struct chrome_proxy *proxy, enum proxy_state state)
{
    const struct value *node = member_object(json, arguments, key);
    if (!node)
        return;
    proxy->has_states = 1;
    proxy->state[state].steps = member_natural(json, node, "step", 0);
    proxy->state[state].at_ns = member_moment(json, node, "ts");
}

static void read_proxy(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    struct chrome_proxy *proxy = &line->proxy;
    proxy->channel = member_natural(json, arguments, "Channel", COUNT_UNKNOWN);
    proxy->peer = member_natural_or_none(json, arguments, "Peer");
    proxy->step_count = member_natural(json, arguments, "Steps", COUNT_UNKNOWN);
    proxy->chunk_bytes = member_natural(json, arguments, "ChunkSize", COUNT_UNKNOWN);
    proxy->transferred_bytes = member_natural(json, arguments, "transSize", COUNT_UNKNOWN);
    proxy->has_states = 0;
    for (int i = 0; i < PROXY_STATES; i++) {
        proxy->state[i].steps = 0;
        proxy->state[i].at_ns = TIME_UNKNOWN;
    }
    read_state(json, arguments, "POSTED", proxy, STATE_POSTED);
    read_state(json, arguments, "REM_FIFO_WAIT", proxy, STATE_PEER);
    read_state(json, arguments, "RECEIVED", proxy, STATE_PEER);
    read_state(json, arguments, "TRANSMITTED", proxy, STATE_TRANSMITTED);
    read_state(json, arguments, "DONE", proxy, STATE_DONE);
}

/* Durations print as "%f" on the host's clock and as whole microseconds on the GPU's. */
static void read_copy(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    unsigned ignored = 0;
    const char *timing = member_text(json, arguments, "timing");
    const char *key = json_member(arguments, "duration_gpu_us") ? "duration_gpu_us" : "duration_cpu_us";
    line->copy = (struct chrome_copy){
        .count = member_natural(json, arguments, "count", COUNT_UNKNOWN),
        .datatype = read_datatype(json, arguments, "datatype", &ignored),
        .duration_ns = member_nanoseconds(json, arguments, key, COUNT_UNKNOWN),
        .sequence = member_natural(json, arguments, "SeqNum", COUNT_UNKNOWN),
        .communicator_hash = member_unsigned(json, arguments, "CommHash"),
        .rank = member_natural_or_none(json, arguments, "Rank"),
        .user_tag = member_unsigned(json, arguments, "UserTag"),
        .is_enqueue = timing && strcmp(timing, "enqueue") == 0,
    };
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

static void read_kernel(struct json *json, const struct value *arguments, struct chrome_line *line)
{
    line->kernel = (struct chrome_kernel){
        .channel = member_integer(json, arguments, "Channel", COUNT_UNKNOWN),
        .gpu_begin = member_unsigned(json, arguments, "StartGpuClk"),
        .gpu_end = member_unsigned(json, arguments, "StopGpuClk"),
        .phase = member_natural_or_none(json, arguments, "PhaseId"),
        .begin_ns = member_moment(json, arguments, "StartHost"),
        .end_ns = member_moment(json, arguments, "StopHost"),
    };
    if (line->phase == 'X')
        line->hints |= CHROME_HINT_PHASES;
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
        line->step = member_natural_or_none(json, arguments, "Step");
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

static void read_event(struct json *json, const struct value *event, struct chrome_line *line)
{
    const char *phase = member_text(json, event, "ph");
    line->category = (enum chrome_category)find_word(categories, member_text(json, event, "cat"));
    line->phase = '\0';
    if (phase && phase[0] != '\0' && phase[1] == '\0')
        line->phase = phase[0];
    line->id = member_integer(json, event, "id", COUNT_UNKNOWN);
    line->pid = member_integer(json, event, "pid", COUNT_UNKNOWN);
    line->time_ns = member_moment(json, event, "ts");
    read_name(member_text(json, event, "name"), line);
    if (line->phase == 'b' || line->phase == 'i' || line->phase == 'M' || line->category == CHROME_NCCLPROF ||
        (line->phase == 'X' && line->category == CHROME_GPU))
        read_arguments(json, member_object(json, event, "args"), line);
}

/*
 * A tag is printed as the application gave it, quotes, backslashes and all: it is what stands between the
 * fixed text before and after it. A line that was read so has `tag` pointing into `text`.
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

/* The rank and the closing braces, and nothing else: the bundled plugin escapes, and has more to say. */
static int ends_with_rank(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return end - at == 2 && at[0] == '}' && at[1] == '}';
}

/* Parses the line with the tag taken out of it. */
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
