/* An asynchronous engine for fathom, on files: I/Os are held until the job waits for them, and then executed after a delay.
 * cc -shared -fPIC -O2 -Iinclude -o late.so examples/external/late.c
 * fathom --name=a --ioengine=external:./late.so --iodepth=8 --delay=100us --size=16m --rw=randwrite --verify=crc32c */
#define _GNU_SOURCE
#include "fathom_engine.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DELAY, REFUSED };

static const struct fathom_option options[] = {
    { "delay", "0", "Time that every I/O takes", FATHOM_TIME, 0 },
    { "refused", NULL, "A name of a file that must not be used", FATHOM_TEXT, 0 },
};

struct state {
    int64_t delay;
    uint32_t depth, kept, handed_over;
    struct fathom_io list[];    /* in the order of their arrival */
};

static int open_engine(const struct fathom_setup *setup, void **place)
{
    for (uint32_t i = 0; i < setup->target_count; i++) {
        const char *a = setup->targets[i].name, *b = setup->values[REFUSED].text;
        while (*a && *a == *b)
            a++, b++;
        if (!*a && !*b) {
            snprintf(setup->message, setup->message_size, "%s is refused: choose another file", setup->targets[i].name);
            return -EPERM;
        }
    }
    struct state *state = calloc(1, sizeof(*state) + setup->depth * sizeof(struct fathom_io));
    if (!state)
        return -ENOMEM;
    state->delay = setup->values[DELAY].number;
    state->depth = setup->depth;
    *place = state;
    return 0;
}

static int64_t queue(void *place, const struct fathom_io *io)
{
    struct state *state = place;
    state->list[state->kept++] = *io;
    return FATHOM_PENDING;
}

static int commit(void *place)
{
    struct state *state = place;
    int taken = state->kept - state->handed_over;
    state->handed_over = state->kept;
    return taken;
}

static int64_t perform(const struct state *state, const struct fathom_io *io)
{
    struct timespec delay = { state->delay / 1000000000, state->delay % 1000000000 };
    ssize_t moved;
    if (state->delay)
        nanosleep(&delay, NULL);
    if (io->operation == FATHOM_READ)
        moved = pread(io->descriptor, io->buffer, io->length, io->offset);
    else
        moved = pwrite(io->descriptor, io->buffer, io->length, io->offset);
    return moved < 0 ? -errno : moved;
}

static int reap(void *place, uint32_t min, uint32_t max, int64_t timeout, struct fathom_completion *ended)
{
    struct state *state = place;
    uint32_t count = min < state->handed_over ? min : state->handed_over;
    if (timeout >= 0 && count > 1)
        count = 1;
    if (count > max)
        count = max;
    for (uint32_t i = 0; i < count; i++) {
        ended[i].slot = state->list[i].slot;
        ended[i].result = perform(state, &state->list[i]);
    }
    for (uint32_t i = count; i < state->kept; i++)
        state->list[i - count] = state->list[i];
    state->kept -= count;
    state->handed_over -= count;
    return count;
}

static const char *explain(void *place, uint32_t slot)
{
    (void)place, (void)slot;
    return "the kernel returned it to late.so";
}

static const struct fathom_engine engine = {
    .version = FATHOM_ENGINE_VERSION,
    .capabilities = FATHOM_ASYNCHRONOUS,
    .help = "reads and writes as late as it can",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .open = open_engine,
    .queue = queue,
    .commit = commit,
    .reap = reap,
    .explain = explain,
    .close = free,
};

const struct fathom_engine *fathom_engine(uint32_t version)
{
    return version == FATHOM_ENGINE_VERSION ? &engine : 0;
}
