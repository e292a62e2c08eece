#include "format/nccl/warning.h"

#include "input/number.h"

#include <string.h>

static int64_t number_of(struct text word)
{
    int64_t number;
    return word.length && number_int64(word.data, word.length, &number) == 0 ? number : COUNT_UNKNOWN;
}

static const char completion[] = "Got completion from peer";

/* "status=12", "status=IBV_WC_RETRY_EXC_ERR(12)", before 2.21 "with error 12". */
static int64_t status_of(struct text message)
{
    struct text behind = text_after(message, "status=");
    if (!behind.data)
        return number_of(text_word(text_after(message, "with error ")));
    struct text word = text_word(behind);
    int64_t number = number_of(word);
    if (number != COUNT_UNKNOWN || word.length == behind.length || behind.data[word.length] != '(')
        return number;
    return number_of(text_word((struct text){word.data + word.length + 1, behind.length - word.length - 1}));
}

/* "NET/IB : mlx5_0:1 Got async event : port error" and its like; the words are ibv_event_type_str's. Of all
 * others a queue's or a connection's are what becomes of a transfer, and the rest is no failure. */
static int is_of_card(struct text message)
{
    return text_begins(message, "NET/IB") && text_holds(message, "async") &&
           (text_holds(message, "port error") || text_holds(message, "local catastrophic error"));
}

static enum warning_kind kind_of(struct text message)
{
    if (text_holds(message, completion))
        return WARNING_COMPLETION;
    if (is_of_card(message))
        return WARNING_CARD;
    return text_holds(message, "Connection closed by remote peer") ? WARNING_CLOSED : WARNING_OTHER;
}

/* "hca mlx5_0" at the end, or "NET/IB : mlx5_0:1 Got async event". */
static struct text nic_of(struct text message, enum warning_kind kind)
{
    struct text word = text_value(message, "hca");
    struct text behind = text_after(message, "NET/IB : ");
    if (word.length || kind != WARNING_CARD || !behind.data)
        return word;
    word = text_word(behind);
    const char *port = memchr(word.data, ':', word.length);
    return port ? (struct text){word.data, (size_t)(port - word.data)} : (struct text){NULL, 0};
}

void warning_read(struct text message, struct warning_words *words)
{
    enum warning_kind kind = kind_of(message);
    *words = (struct warning_words){.kind = kind,
                                    .status = kind == WARNING_COMPLETION ? status_of(message) : COUNT_UNKNOWN,
                                    .peer = text_word(text_after(message, " peer ")),
                                    .nic = nic_of(message, kind)};
    if (kind != WARNING_COMPLETION && kind != WARNING_CLOSED)
        words->peer = (struct text){NULL, 0};
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
    /* Where a card meets the others itself, its port stands there, and no bracket behind it. */
    return word.data + word.length < behind.data + behind.length && word.data[word.length] == '<' ? word
                                                                                                  : none;
}
