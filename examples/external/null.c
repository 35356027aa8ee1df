/* A minimal engine for fathom: every I/O ends immediately, and nothing is done.
 * cc -shared -fPIC -O2 -Iinclude -o null.so examples/external/null.c
 * fathom --name=a --ioengine=external:./null.so --filename=nothing --size=1g --rw=read */
#include "fathom_engine.h"

static int64_t size_of(const struct fathom_setup *setup, const char *name)
{
    (void)setup, (void)name;
    return INT64_MAX;
}

static int open_engine(const struct fathom_setup *setup, void **state)
{
    (void)setup, (void)state;
    return 0;
}

static int64_t queue(void *state, const struct fathom_io *io)
{
    (void)state;
    return io->length;
}

static void close_engine(void *state)
{
    (void)state;
}

static const struct fathom_engine engine = {
    .version = FATHOM_ENGINE_VERSION,
    .capabilities = FATHOM_OWN_TARGETS | FATHOM_TRIMS | FATHOM_DISCARDS_DATA,
    .help = "does nothing, immediately",
    .size = size_of,
    .open = open_engine,
    .queue = queue,
    .close = close_engine,
};

const struct fathom_engine *fathom_engine(uint32_t version)
{
    return version == FATHOM_ENGINE_VERSION ? &engine : 0;
}
