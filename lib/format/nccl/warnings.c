#include "format/nccl/warnings.h"

#include "base/array.h"
#include "format/nccl/warning.h"

#include <stdlib.h>

/* Up to the end of the first line, as far as warnings are worth keeping. */
enum { WARNING_BYTES = 512, NAME_BYTES = 32, PEER_BYTES = 256 };

void warnings_release(struct warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++)
        buffer_release(&warnings->items[i].message);
    free(warnings->items);
    *warnings = (struct warnings){0};
}

static struct held_warning *of_speaker(struct warnings *warnings, int64_t speaker)
{
    size_t count = (size_t)speaker + 1;
    if (array_reserve((void **)&warnings->items, &warnings->capacity, count, sizeof *warnings->items))
        return NULL;
    while (warnings->count < count)
        warnings->items[warnings->count++] = (struct held_warning){.message = BUFFER_INIT};
    return &warnings->items[speaker];
}

static int emit(const struct speakers *speakers, const struct format_sink *sink, const struct said *said,
                const struct warning_words *words, int64_t calls, struct error *error)
{
    char text[WARNING_BYTES], nic[NAME_BYTES], peer[PEER_BYTES];
    const struct speaker *speaker = &speakers->items[said->speaker];
    struct event event = {.kind = EVENT_WARNING,
                          .origin = {.host = intern_text(&speakers->hosts, speaker->host),
                                     .pid = speaker->pid,
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

/* All ranks log which two of them differ: each of the two names the other, and the rest only say so. */
static void judge_versions(const struct speakers *speakers, const struct said *said,
                           struct warning_words *words)
{
    const struct seat *seat = speakers_seat_before(speakers, said->speaker, NULL);
    int64_t one, other;
    if (!seat || !warning_read_versions(said->message, &one, &other))
        return;
    /* Ranks of the first communicator are those of the job. */
    int64_t root = speakers->items[said->speaker].root;
    int is_first = root >= 0 && seat == &speakers->seats[root];
    if (is_first && (seat->rank == one || seat->rank == other))
        words->status = seat->rank == one ? other : one;
    else
        words->kind = WARNING_ABORTED;
}

/* What is held, by the result that was handed up where its own words do not say what it is about. */
static void let_go(struct held_warning *held, const struct speakers *speakers, struct warning_words *words)
{
    held->is_held = 0;
    held->said.message = (struct text){held->message.data, held->message.length};
    warning_read(held->said.message, words);
    if (held->has_result && words->kind == WARNING_OTHER && !words->is_harmless)
        words->kind = held->result;
    judge_versions(speakers, &held->said, words);
}

static int tell(struct held_warning *held, const struct speakers *speakers, const struct format_sink *sink,
                struct error *error)
{
    struct warning_words words;
    if (!held->is_held)
        return 0;
    let_go(held, speakers, &words);
    return emit(speakers, sink, &held->said, &words, held->calls, error);
}

int warnings_take(struct warnings *warnings, const struct speakers *speakers, const struct format_sink *sink,
                  const struct said *said, struct error *error)
{
    struct held_warning *held = of_speaker(warnings, said->speaker);
    if (!held)
        return error_no_memory(error);
    if (tell(held, speakers, sink, error))
        return -1;
    buffer_clear(&held->message);
    if (buffer_append(&held->message, said->message.data,
                      said->message.length < WARNING_BYTES ? said->message.length : WARNING_BYTES))
        return error_no_memory(error);
    held->said = *said;
    held->calls = speakers->items[said->speaker].calls;
    held->is_held = held->has_warned = 1;
    held->has_result = 0;
    return 0;
}

/* A result that NCCL hands up: of the warning before it; where the log has none, it is one itself. */
static int take_result(struct warnings *warnings, const struct speakers *speakers,
                       const struct format_sink *sink, const struct said *said, enum warning_kind kind,
                       struct error *error)
{
    struct held_warning *held = of_speaker(warnings, said->speaker);
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
    return emit(speakers, sink, said, &words, speakers->items[said->speaker].calls, error) ? -1 : 1;
}

/* Whether it is said of the rank that the speaker has in what it is making. */
static int is_of_itself(const struct speakers *speakers, const struct said *said, int64_t rank)
{
    const struct seat *seat = speakers_seat_before(speakers, said->speaker, NULL);
    return seat && seat->rank == rank;
}

/* Each communicator says it again: the first is kept. */
static int take_network(struct warnings *warnings, const struct speakers *speakers,
                        const struct format_sink *sink, const struct said *said, struct error *error)
{
    const struct warning_words network = {.kind = WARNING_NETWORK, .status = COUNT_UNKNOWN};
    struct held_warning *held = of_speaker(warnings, said->speaker);
    if (!held)
        return error_no_memory(error);
    if (held->has_network)
        return 0;
    held->has_network = 1;
    return emit(speakers, sink, said, &network, speakers->items[said->speaker].calls, error);
}

/* Of what it called or did itself; what it warns of of cards and peers stays true. */
static int is_of_rank(enum warning_kind kind)
{
    return kind == WARNING_CUDA || kind == WARNING_MEMORY || kind == WARNING_INTERNAL ||
           kind == WARNING_SYSTEM || kind == WARNING_USAGE;
}

static int tell_got_over(struct held_warning *held, const struct speakers *speakers,
                         const struct format_sink *sink, struct error *error)
{
    struct warning_words words;
    let_go(held, speakers, &words);
    if (is_of_rank(words.kind))
        words = (struct warning_words){.kind = WARNING_GOT_OVER, .status = COUNT_UNKNOWN};
    return emit(speakers, sink, &held->said, &words, held->calls, error);
}

int warnings_settle(struct warnings *warnings, const struct speakers *speakers,
                    const struct format_sink *sink, int64_t speaker, int64_t tid, struct error *error)
{
    struct held_warning *held = (size_t)speaker < warnings->count ? &warnings->items[speaker] : NULL;
    if (!held || !held->is_held || held->has_result || (tid >= 0 && held->said.tid != tid))
        return 0;
    return tell_got_over(held, speakers, sink, error);
}

/* The thread connected what it was about to, whatever NCCL handed up before: it took another way. */
static int take_connected(struct warnings *warnings, const struct speakers *speakers,
                          const struct format_sink *sink, const struct said *said, struct error *error)
{
    struct held_warning *held =
        (size_t)said->speaker < warnings->count ? &warnings->items[said->speaker] : NULL;
    if (!held || !held->is_held || held->said.tid != said->tid)
        return 0;
    return tell_got_over(held, speakers, sink, error);
}

int warnings_take_info(struct warnings *warnings, const struct speakers *speakers,
                       const struct format_sink *sink, const struct said *said, struct error *error)
{
    const struct warning_words differs = {.kind = WARNING_MISMATCH, .status = COUNT_UNKNOWN};
    enum warning_kind kind;
    int64_t rank;
    if (text_begins(said->message, "Connected all "))
        return take_connected(warnings, speakers, sink, said, error);
    if (warning_is_network(said->message))
        return take_network(warnings, speakers, sink, said, error) ? -1 : 1;
    if (warning_read_result(said->message, &kind))
        return take_result(warnings, speakers, sink, said, kind, error);
    if (!warning_read_fewer_cards(said->message, &rank) || !is_of_itself(speakers, said, rank))
        return 0;
    return emit(speakers, sink, said, &differs, speakers->items[said->speaker].calls, error) ? -1 : 1;
}

int warnings_end(struct warnings *warnings, const struct speakers *speakers, const struct format_sink *sink,
                 struct error *error)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (tell(&warnings->items[i], speakers, sink, error))
            return -1;
    return 0;
}
