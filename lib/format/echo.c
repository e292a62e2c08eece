#include "format/echo.h"

/* In which texts words count, and in all below in the list of enum echo_text. */
static const struct {
    const char *words;
    enum echo_text from;
} table[] = {
    {"Connection closed by remote peer", ECHO_LINE},
    {"Socket recv failed while polling", ECHO_LINE},
    {"Could not receive type from localRank", ECHO_LINE},
    {"socket progress error", ECHO_LINE},
    {"Call to recv from ", ECHO_LINE},
    {"Call to send to ", ECHO_LINE},
    {"Connection timed out", ECHO_LINE},
    {"Connection refused", ECHO_LINE},
    {"Connection reset", ECHO_LINE},
    {"No route to host", ECHO_LINE},
    {"Network is unreachable", ECHO_LINE},
    {"remote process exited", ECHO_LINE},
    {"ncclRemoteError", ECHO_ERROR},
    {"Broken pipe", ECHO_ERROR},
    {": Connect to ", ECHO_ERROR},
    {"Proxy Call to rank ", ECHO_ERROR},
    {"Got completion", ECHO_ERROR},
    {"communicator was aborted", ECHO_ERROR},
    {"torch.distributed.", ECHO_EXCEPTION},
    {"c10::", ECHO_EXCEPTION},
    {"NCCL", ECHO_EXCEPTION},
    {"Connection", ECHO_EXCEPTION},
    {"monitoredBarrier", ECHO_EXCEPTION},
    {"wait timeout after ", ECHO_EXCEPTION},
    {"Socket Timeout", ECHO_EXCEPTION},
    {"Timed out initializing process group", ECHO_EXCEPTION},
    {"imed out waiting ", ECHO_EXCEPTION},
    {"socket has timed out", ECHO_EXCEPTION},
    {"gloo", ECHO_EXCEPTION},
    {"Detected mismatch between collectives", ECHO_EXCEPTION},
    {"ActorDied", ECHO_EXCEPTION},
    {"RayActorError", ECHO_EXCEPTION},
};

int echo_is_in(struct text text, enum echo_text of)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from <= of && text_holds(text, table[i].words))
            return 1;
    return 0;
}
