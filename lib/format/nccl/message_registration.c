#include "format/nccl/message_registration.h"

#include "input/number.h"

/*
 * What NCCL prints of registered memory (subsystem REG; 2.23 to 2.30). Lines of calls begin with "rank 3 - "
 * or "rank 3 "; each form is told by words of its own, those of
 * COLLNET before those of NET, which they hold.
 */
struct form {
    const char *words;
    enum registration_kind kind;
    enum registration_way way;
    const char *address; /* what stands before it; NULL: there is none */
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

static uint64_t address_of(struct text message, const char *key)
{
    uint64_t address;
    return !key || text_hexadecimal(message, key, &address) ? 0 : address;
}

/* "register comm 0x1 buffer 0x2 size 3", behind a function's name or not. */
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

/* By which later lines know it: that of the network, or, as IPC has none, where its memory begins. */
static uint64_t handle_of(struct text message, const struct form *form)
{
    static const char *const keys[] = {"handle", "(handle"};
    if (form->way == WAY_IPC)
        return address_of(message, form->kind == REGISTRATION_ENDED ? "buffer" : "(baseAddr");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint64_t handle = address_of(message, keys[i]);
        if (handle)
            return handle;
    }
    return 0;
}

static int read_form(struct text message, const struct form *form, struct message_registration *registration)
{
    *registration = (struct message_registration){.kind = form->kind,
                                                  .way = form->way,
                                                  .address = address_of(message, form->address),
                                                  .second = address_of(message, form->second),
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
        if (text_holds(message, forms[i].words))
            return read_form(message, &forms[i], registration);
    return 0;
}
