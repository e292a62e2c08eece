/*
 * Warnings of NCCL's debug log: finds the kind of a warning from its words, and holds each warning until the
 * next messages show what came of it.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl/nccl.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* "status=12", "status=IBV_WC_RETRY_EXC_ERR(12)", before 2.21 "with error 12". */
static int64_t status_of_completion(struct text message)
{
    struct text behind = text_after(message, "status=");
    if (!behind.data)
        return text_leading_number(text_after(message, "with error "));
    struct text word = text_word(behind);
    int64_t number = text_leading_number(word);
    if (number != COUNT_UNKNOWN || word.length == behind.length || behind.data[word.length] != '(')
        return number;
    return text_leading_number((struct text){word.data + word.length + 1, behind.length - word.length - 1});
}

/* "RC: 21." or "err: 21," of aws-ofi-nccl. */
static int64_t status_of_request(struct text message)
{
    int64_t number = text_leading_number(text_after(message, "RC: "));
    return number != COUNT_UNKNOWN ? number : text_leading_number(text_after(message, " err: "));
}

/*
 * A warning that contains all three texts has that kind; the first row that fits counts. NULL: no further
 * text.
 */
struct words {
    const char *first; /* NULL: the words of an echo (echo_is_in) */
    const char *second;
    const char *third;
    enum warning_kind kind;
};

static const struct words table[] = {
    /* NCCL's RAS serves its users; no operation waits for it. */
    {"RAS ", NULL, NULL, WARNING_OTHER},
    {"NCCL version mismatch with remote peer", NULL, NULL, WARNING_OTHER},
    /* The process is exiting, and memory is freed after the driver shut down. */
    {"driver shutting down", NULL, NULL, WARNING_OTHER},
    /* Transfers and requests. */
    {"Got completion", "with status=", NULL, WARNING_COMPLETION},
    {"Got completion", "with error ", NULL, WARNING_COMPLETION},
    {"NET/OFI", "completed with error", NULL, WARNING_REQUEST},
    {"NET/OFI", "Error posting ", "RC: ", WARNING_REQUEST},
    {"NET/OFI", "Could not send request", NULL, WARNING_REQUEST},
    {"NET/OFI", "Error in call to fi_", "RC: ", WARNING_REQUEST},
    {"ucx_isend: unable to send", NULL, NULL, WARNING_REQUEST},
    {"ucx_irecv: unable to post", NULL, NULL, WARNING_REQUEST},
    {"flush: unable to read data", NULL, NULL, WARNING_REQUEST},
    /*
     * Cards. Of the other events, those of a queue or connection follow from a transfer, and the rest are no
     * failures. The words are those of ibv_event_type_str().
     */
    {"NET/IB", "async", "local catastrophic error", WARNING_CARD_FATAL},
    {"NET/IB", "async", "port error", WARNING_CARD},
    {"NET/IB", "async", "link down", WARNING_CARD},
    {"NET/IB", "async", "port active", WARNING_CARD_BACK},
    {"communicator encountered a fatal error", NULL, NULL, WARNING_CARD_FATAL},
    {"NET/IB", "Unable to open device", NULL, WARNING_NO_CARD},
    {"NET/IB", "Unable to query device", NULL, WARNING_NO_CARD},
    {"NET/IB", "Unable to query port", NULL, WARNING_NO_CARD},
    {"NET/IB", "No IP interface found", NULL, WARNING_NO_CARD},
    {"no socket interface found", NULL, NULL, WARNING_NO_CARD},
    {"NET/Socket", "no interface found", NULL, WARNING_NO_CARD},
    {"No usable listening interface found", NULL, NULL, WARNING_NO_CARD},
    {"NET/OFI", "Couldn't open ", NULL, WARNING_NO_CARD},
    {"NET/OFI", "Couldn't create ", NULL, WARNING_NO_CARD},
    {"NET/OFI", "Couldn't enable endpoint", NULL, WARNING_NO_CARD},
    {"NET/OFI", "Error accessing device", NULL, WARNING_NO_CARD},
    {"NET/IB", "incompatible", "evice", WARNING_MISMATCH},
    /* All ranks print it about the ranks that differ. */
    {"Detected mixed local ", NULL, NULL, WARNING_ABORTED},
    /* If a rank receives less than its peer sends, the message does not show which of the two is wrong. */
    {"NET/", "message truncated", NULL, WARNING_ABORTED},
    /* Peers that cannot be reached, or no longer. */
    {"onnect to ", "failed", NULL, WARNING_CLOSED},
    {"onnect to ", "exceeded", NULL, WARNING_CLOSED},
    {"Connect: exceeded ", NULL, NULL, WARNING_CLOSED},
    {NULL, NULL, NULL, WARNING_CLOSED},
    /* A service thread reports the result of a request from another thread. */
    {"[Proxy Service", "Failed to execute operation", NULL, WARNING_ABORTED},
    {"[Service thread] Error encountered", NULL, NULL, WARNING_ABORTED},
    {" in abort state", NULL, NULL, WARNING_ABORTED},
    /* Failures of the rank itself. */
    {"out of memory", NULL, NULL, WARNING_MEMORY},
    {"Failed to malloc", NULL, NULL, WARNING_MEMORY},
    {"Failed to CUDA ", "alloc", NULL, WARNING_MEMORY},
    {"Cannot allocate memory", NULL, NULL, WARNING_MEMORY},
    {"Cuda failure", NULL, NULL, WARNING_CUDA},
    {"HIP failure", NULL, NULL, WARNING_CUDA},
    {"ROCr failure", NULL, NULL, WARNING_CUDA},
    {"CUDA error", NULL, NULL, WARNING_CUDA},
    {"unhandled cuda error", NULL, NULL, WARNING_CUDA},
    {"cudaIpcGetMemHandle failed", NULL, NULL, WARNING_CUDA},
    {"failed to peer with device", NULL, NULL, WARNING_CUDA},
    {"Failed to set CUDA ", NULL, NULL, WARNING_CUDA},
    {"Failed to create CUDA context", NULL, NULL, WARNING_CUDA},
    {"Proxy append ", NULL, NULL, WARNING_INTERNAL},
    {"incomplete proxy op chain", NULL, NULL, WARNING_INTERNAL},
    {"Inactive op has next set", NULL, NULL, WARNING_INTERNAL},
    {"Could not find pool of op", NULL, NULL, WARNING_INTERNAL},
    {"nternal error", NULL, NULL, WARNING_INTERNAL},
    {"shared memory", "Error", NULL, WARNING_SYSTEM},
    {"Error: failed to extend ", NULL, NULL, WARNING_SYSTEM},
    {"unhandled system error", NULL, NULL, WARNING_SYSTEM},
    {"Duplicate GPU detected", NULL, NULL, WARNING_USAGE},
    {"Mismatched NCCL version detected", NULL, NULL, WARNING_USAGE},
    {" : invalid root ", NULL, NULL, WARNING_USAGE},
    {" : invalid type ", NULL, NULL, WARNING_USAGE},
    {" : invalid reduction operation ", NULL, NULL, WARNING_USAGE},
    {"mismatchs with NCCL device", NULL, NULL, WARNING_USAGE},
};

enum { WORDS = sizeof table / sizeof *table };

static int fits(struct text message, const struct words *words)
{
    if (!words->first)
        return echo_is_in(message, ECHO_LINE);
    return text_contains(message, words->first) &&
           (!words->second || text_contains(message, words->second)) &&
           (!words->third || text_contains(message, words->third));
}

/* NULL: the words are unknown. */
static const struct words *words_of(struct text message)
{
    for (size_t i = 0; i < WORDS; i++)
        if (fits(message, &table[i]))
            return &table[i];
    return NULL;
}

/* "mlx5_0" of "mlx5_0:1". */
static struct text before_port(struct text word)
{
    const char *port = word.length ? memchr(word.data, ':', word.length) : NULL;
    return port ? (struct text){word.data, (size_t)(port - word.data)} : (struct text){NULL, 0};
}

/* "hca mlx5_0" at the end, "NET/IB : mlx5_0:1 Got async event", or "Unable to open device mlx5_0". */
static struct text nic_of(struct text message, enum warning_kind kind)
{
    struct text behind = text_after(message, "NET/IB : ");
    if (kind == WARNING_COMPLETION)
        return text_value(message, "hca");
    if (kind == WARNING_NO_CARD)
        return text_begins(message, "NET/IB") ? text_value(message, "device") : (struct text){NULL, 0};
    if ((kind != WARNING_CARD && kind != WARNING_CARD_FATAL && kind != WARNING_CARD_BACK) || !behind.data)
        return (struct text){NULL, 0};
    return before_port(text_word(behind));
}

static struct text peer_of(struct text message, enum warning_kind kind)
{
    static const char *const marks[] = {" peer ", " recv from ", " send to ", "onnect to "};
    struct text behind = {NULL, 0};
    if (kind != WARNING_COMPLETION && kind != WARNING_CLOSED)
        return behind;
    for (size_t i = 0; !behind.data && i < sizeof marks / sizeof *marks; i++)
        behind = text_after(message, marks[i]);
    return text_word(behind);
}

void warning_read(struct text message, struct warning_words *words)
{
    const struct words *known = words_of(message);
    enum warning_kind kind = known ? known->kind : WARNING_OTHER;
    *words = (struct warning_words){.kind = kind,
                                    .is_harmless = known && kind == WARNING_OTHER,
                                    .status = kind == WARNING_COMPLETION ? status_of_completion(message)
                                              : kind == WARNING_REQUEST  ? status_of_request(message)
                                                                         : COUNT_UNKNOWN,
                                    .peer = peer_of(message, kind),
                                    .nic = nic_of(message, kind)};
}

/* "misc/socket.cc:483" */
static int is_place(struct text word)
{
    const char *colon = word.length ? memrchr(word.data, ':', word.length) : NULL;
    return colon && memchr(word.data, '.', word.length) &&
           text_leading_number((struct text){colon + 1, (size_t)(word.data + word.length - colon - 1)}) !=
               COUNT_UNKNOWN;
}

/* The values of ncclResult_t in NCCL's nccl.h. */
enum {
    RESULT_CUDA = 1,
    RESULT_SYSTEM = 2,
    RESULT_INTERNAL = 3,
    RESULT_ARGUMENT = 4,
    RESULT_USAGE = 5,
    RESULT_REMOTE = 6
};

int warning_read_result(struct text message, enum warning_kind *kind)
{
    static const enum warning_kind kinds[] = {
        [RESULT_CUDA] = WARNING_CUDA,         [RESULT_SYSTEM] = WARNING_SYSTEM,
        [RESULT_INTERNAL] = WARNING_INTERNAL, [RESULT_ARGUMENT] = WARNING_USAGE,
        [RESULT_USAGE] = WARNING_USAGE,       [RESULT_REMOTE] = WARNING_CLOSED};
    struct text behind = text_after(message, " -> ");
    int64_t result = behind.data ? text_leading_number(behind) : COUNT_UNKNOWN;
    if (result < RESULT_CUDA || result > RESULT_REMOTE || text_begins(message, "ras/") ||
        !is_place(text_word(message)))
        return 0;
    *kind = kinds[result];
    return 1;
}

/*
 * Sockets, the bootstrap and the proxy return an internal error, usually without a warning, after the
 * communicator was aborted.
 */
enum warning_kind warning_of_result_alone(struct text message, enum warning_kind kind)
{
    static const char *const places[] = {"misc/socket.", "bootstrap.", "proxy."};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (kind == WARNING_INTERNAL && text_begins(message, places[i]))
            return WARNING_ABORTED;
    return kind;
}

/* "Using network IB". */
static int warning_is_network(struct text message)
{
    return text_begins(message, "Using network ");
}

int warning_read_fewer_cards(struct text message, int64_t *rank)
{
    return text_begins(message, "Rank ") && text_contains(message, " local Net devices (max ") &&
           text_number(message, "Rank", rank) == 0;
}

/*
 * "Mismatched NCCL version detected : rank 1 version 22203 rank 0 version 22005": the two ranks that differ.
 * Returns 0 for any other message.
 */
static int warning_read_versions(struct text message, int64_t *one, int64_t *other)
{
    struct text first = text_after(text_after(message, "Mismatched NCCL version detected"), " rank ");
    struct text second = text_after(first, " rank ");
    if (!first.data || !second.data)
        return 0;
    *one = text_leading_number(first);
    *other = text_leading_number(second);
    return *one != COUNT_UNKNOWN && *other != COUNT_UNKNOWN;
}

struct text warning_own_address(struct text message)
{
    struct text none = {NULL, 0}, behind = text_after(message, "Using ");
    if (!text_begins(message, "Bootstrap : Using ") && !text_begins(message, "Bootstrap: Using "))
        return none;
    const char *colon = memchr(behind.data, ':', behind.length);
    if (!colon)
        return none;
    struct text word = text_word((struct text){colon + 1, behind.length - (size_t)(colon + 1 - behind.data)});
    /* If a card connects to the others itself, the message has its port there, and no bracket after it. */
    return word.data + word.length < behind.data + behind.length && word.data[word.length] == '<' ? word
                                                                                                  : none;
}

static int is_of_rank_alone(struct text name)
{
    static const char *const endings[] = {"_FILE", "_HOSTID", "_RANK"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (name.length >= length && memcmp(name.data + name.length - length, endings[i], length) == 0)
            return 1;
    }
    return 0;
}

/* The rest of a message as a value: without blanks at its ends, and without the full stop after a number. */
static struct text value_of(struct text rest)
{
    while (rest.length && (rest.data[0] == ' ' || rest.data[0] == ':'))
        rest = (struct text){rest.data + 1, rest.length - 1};
    while (rest.length && strchr(" \r\t", rest.data[rest.length - 1]))
        rest.length--;
    if (rest.length > 1 && rest.data[rest.length - 1] == '.' && is_digit(rest.data[rest.length - 2]))
        rest.length--;
    return rest;
}

int warning_read_setting(struct text message, struct text *name, struct text *value)
{
    static const struct {
        const char *begin;
        const char *name;
    } versions[] = {{"NCCL version ", "NCCL version"},
                    {"RCCL version ", "RCCL version"},
                    {"cudaDriverVersion ", "CUDA driver version"}};
    static const char *const marks[] = {" set by environment to ", " set to "};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (text_begins(message, versions[i].begin)) {
            struct text rest = text_after(message, versions[i].begin);
            *name = (struct text){versions[i].name, strlen(versions[i].name)};
            *value = text_word(value_of(rest));
            return value->length > 0;
        }
    *name = text_word(message);
    if (!text_begins(*name, "NCCL_") && !text_begins(*name, "RCCL_"))
        return 0;
    struct text rest = {message.data + name->length, message.length - name->length};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (text_begins(rest, marks[i])) {
            *value = value_of(text_after(rest, marks[i]));
            return value->length > 0 && !is_of_rank_alone(*name);
        }
    return 0;
}

/* A warning is kept up to the end of its first line, with these limits. */
enum { WARNING_BYTES = 512, NAME_BYTES = 32, PEER_BYTES = 256 };

void warnings_init(struct warnings *warnings)
{
    *warnings = (struct warnings){.items = NULL};
    intern_init(&warnings->settings);
    map_init(&warnings->has_setting);
}

void warnings_release(struct warnings *warnings)
{
    intern_release(&warnings->settings);
    map_release(&warnings->has_setting);
    for (size_t i = 0; i < warnings->count; i++)
        buffer_release(&warnings->items[i].message);
    free(warnings->items);
    *warnings = (struct warnings){.items = NULL};
}

static struct held_warning *of_source_process(struct warnings *warnings, int64_t source_process)
{
    size_t count = (size_t)source_process + 1;
    if (array_reserve((void **)&warnings->items, &warnings->capacity, count, sizeof *warnings->items))
        return NULL;
    while (warnings->count < count)
        warnings->items[warnings->count++] = (struct held_warning){.message = BUFFER_INIT};
    return &warnings->items[source_process];
}

static int emit(const struct source_processes *processes, const struct format_sink *sink,
                const struct said *said, const struct warning_words *words, int64_t calls,
                struct error *error)
{
    char text[WARNING_BYTES], nic[NAME_BYTES], peer[PEER_BYTES];
    const struct source_process *process = &processes->items[said->source_process];
    struct event event = {.kind = EVENT_WARNING,
                          .origin = {.host = intern_text(&processes->hosts, process->host),
                                     .pid = process->pid,
                                     .rank = COUNT_UNKNOWN,
                                     .offset = said->offset},
                          .warning = {.kind = words->kind,
                                      .at_ns = said->at_ns,
                                      .gpu = said->device,
                                      .calls = calls,
                                      .status = words->status,
                                      .nic = text_copy(words->nic, nic, sizeof nic),
                                      .peer = text_copy(words->peer, peer, sizeof peer),
                                      .text = text_copy(said->message, text, sizeof text)}};
    return sink->event(sink->context, &event, error);
}

/*
 * All ranks log which two of them differ. For each of the two, the other is the peer; the other ranks only
 * repeat it.
 */
static void attribute_version_mismatch(const struct source_processes *processes, const struct said *said,
                                       struct warning_words *words)
{
    const struct member *member = source_processes_member_before(processes, said->source_process, NULL);
    int64_t one, other;
    if (!member || !warning_read_versions(said->message, &one, &other))
        return;
    /* Ranks of the first communicator are those of the job. */
    int64_t root = processes->items[said->source_process].root;
    int is_first = root >= 0 && member == &processes->member_list[root];
    if (is_first && (member->rank == one || member->rank == other))
        words->status = member->rank == one ? other : one;
    else
        words->kind = WARNING_ABORTED;
}

/* Releases the held warning. If its own words do not give a kind, the result that NCCL returned does. */
static void release_held_warning(struct held_warning *held, const struct source_processes *processes,
                                 struct warning_words *words)
{
    held->is_held = 0;
    held->said.message = (struct text){held->message.data, held->message.length};
    warning_read(held->said.message, words);
    if (held->has_result && words->kind == WARNING_OTHER && !words->is_harmless)
        words->kind = held->result;
    attribute_version_mismatch(processes, &held->said, words);
}

static int tell(struct held_warning *held, const struct source_processes *processes,
                const struct format_sink *sink, struct error *error)
{
    struct warning_words words;
    if (!held->is_held)
        return 0;
    release_held_warning(held, processes, &words);
    return emit(processes, sink, &held->said, &words, held->calls, error);
}

int warnings_take(struct warnings *warnings, const struct source_processes *processes,
                  const struct format_sink *sink, const struct said *said, struct error *error)
{
    struct held_warning *held = of_source_process(warnings, said->source_process);
    if (!held)
        return error_no_memory(error);
    if (tell(held, processes, sink, error))
        return -1;
    buffer_clear(&held->message);
    if (buffer_append(&held->message, said->message.data,
                      said->message.length < WARNING_BYTES ? said->message.length : WARNING_BYTES))
        return error_no_memory(error);
    held->said = *said;
    held->calls = processes->items[said->source_process].calls;
    held->is_held = held->has_warned = 1;
    held->has_result = 0;
    return 0;
}

/*
 * Takes a result that NCCL returned. It belongs to the warning before it; without one it is a warning itself.
 */
static int take_result(struct warnings *warnings, const struct source_processes *processes,
                       const struct format_sink *sink, const struct said *said, enum warning_kind kind,
                       struct error *error)
{
    struct held_warning *held = of_source_process(warnings, said->source_process);
    const struct warning_words words = {.kind = warning_of_result_alone(said->message, kind),
                                        .status = COUNT_UNKNOWN};
    if (!held)
        return error_no_memory(error);
    if (held->is_held && held->said.tid == said->tid && !held->has_result) {
        held->has_result = 1;
        held->result = kind;
        return 1;
    }
    if (held->has_warned)
        return 0;
    held->has_warned = 1;
    return emit(processes, sink, said, &words, processes->items[said->source_process].calls, error) ? -1 : 1;
}

/* Whether the message is about the process's own rank in the communicator that it is creating. */
static int is_of_itself(const struct source_processes *processes, const struct said *said, int64_t rank)
{
    const struct member *member = source_processes_member_before(processes, said->source_process, NULL);
    return member && member->rank == rank;
}

/* Every communicator prints it; the first is kept. */
static int take_network(struct warnings *warnings, const struct source_processes *processes,
                        const struct format_sink *sink, const struct said *said, struct error *error)
{
    const struct warning_words network = {.kind = WARNING_NETWORK, .status = COUNT_UNKNOWN};
    struct held_warning *held = of_source_process(warnings, said->source_process);
    if (!held)
        return error_no_memory(error);
    if (held->has_network)
        return 0;
    held->has_network = 1;
    return emit(processes, sink, said, &network, processes->items[said->source_process].calls, error);
}

/* About what the process itself called or did. Warnings about cards and peers stay true. */
static int is_of_rank(enum warning_kind kind)
{
    return kind == WARNING_CUDA || kind == WARNING_MEMORY || kind == WARNING_INTERNAL ||
           kind == WARNING_SYSTEM || kind == WARNING_USAGE;
}

static int emit_got_over(struct held_warning *held, const struct source_processes *processes,
                         const struct format_sink *sink, struct error *error)
{
    struct warning_words words;
    release_held_warning(held, processes, &words);
    if (is_of_rank(words.kind))
        words = (struct warning_words){.kind = WARNING_GOT_OVER, .status = COUNT_UNKNOWN};
    return emit(processes, sink, &held->said, &words, held->calls, error);
}

int warnings_settle(struct warnings *warnings, const struct source_processes *processes,
                    const struct format_sink *sink, int64_t source_process, int64_t tid, struct error *error)
{
    struct held_warning *held =
        (size_t)source_process < warnings->count ? &warnings->items[source_process] : NULL;
    if (!held || !held->is_held || held->has_result || (tid >= 0 && held->said.tid != tid))
        return 0;
    return emit_got_over(held, processes, sink, error);
}

/*
 * The thread connected its communicator in spite of a result that NCCL returned before: it took another path.
 */
static int take_connected(struct warnings *warnings, const struct source_processes *processes,
                          const struct format_sink *sink, const struct said *said, struct error *error)
{
    struct held_warning *held =
        (size_t)said->source_process < warnings->count ? &warnings->items[said->source_process] : NULL;
    if (!held || !held->is_held || held->said.tid != said->tid)
        return 0;
    return emit_got_over(held, processes, sink, error);
}

/* A process prints a setting for each communicator, or several threads do: it is kept once. */
static int take_setting(struct warnings *warnings, const struct source_processes *processes,
                        const struct format_sink *sink, const struct said *said, struct text name,
                        struct text value, struct error *error)
{
    const struct warning_words setting = {.kind = WARNING_SETTING, .status = COUNT_UNKNOWN};
    struct buffer text = BUFFER_INIT;
    struct said of = *said;
    int added = 0, failed = buffer_append(&text, name.data, name.length) || buffer_append_byte(&text, '=') ||
                            buffer_append(&text, value.data, value.length);
    int64_t number = failed ? -1 : intern_put(&warnings->settings, text.data, text.length);
    struct map_key key = {{(uint64_t)said->source_process, (uint64_t)number}};
    if (number < 0 || !map_put(&warnings->has_setting, key, 1, &added))
        failed = error_no_memory(error);
    of.message = (struct text){text.data, text.length};
    if (!failed && added)
        failed = emit(processes, sink, &of, &setting, processes->items[said->source_process].calls, error);
    buffer_release(&text);
    return failed ? -1 : 1;
}

int warnings_take_info(struct warnings *warnings, const struct source_processes *processes,
                       const struct format_sink *sink, const struct said *said, struct error *error)
{
    const struct warning_words differs = {.kind = WARNING_MISMATCH, .status = COUNT_UNKNOWN};
    enum warning_kind kind;
    struct text name, value;
    int64_t rank;
    if (warning_read_setting(said->message, &name, &value))
        return take_setting(warnings, processes, sink, said, name, value, error);
    if (text_begins(said->message, "Connected all "))
        return take_connected(warnings, processes, sink, said, error);
    if (warning_is_network(said->message))
        return take_network(warnings, processes, sink, said, error) ? -1 : 1;
    if (warning_read_result(said->message, &kind))
        return take_result(warnings, processes, sink, said, kind, error);
    if (!warning_read_fewer_cards(said->message, &rank) || !is_of_itself(processes, said, rank))
        return 0;
    return emit(processes, sink, said, &differs, processes->items[said->source_process].calls, error) ? -1
                                                                                                      : 1;
}

int warnings_end(struct warnings *warnings, const struct source_processes *processes,
                 const struct format_sink *sink, struct error *error)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (tell(&warnings->items[i], processes, sink, error))
            return -1;
    return 0;
}
