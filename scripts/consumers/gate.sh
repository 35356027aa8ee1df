#!/usr/bin/env bash
# gate: scripts that check the installed fio before they use it: its version, engines and help, and whether a job is valid.
# From: own bench-fio's, kdump's and many roles' checks
# Compared: the form of the version, engines that both have, and exit status of each question
set -uo pipefail
fio --version | grep -qE '^fio-3\.[0-9]+' && echo "version 3"
major=$(fio --version | sed -E 's/fio-([0-9]+).*/\1/')
[ "$major" -ge 3 ] && echo "new enough"
for engine in libaio io_uring psync sync mmap posixaio splice net null; do
    fio --enghelp | tr -d '\t ' | grep -qx "$engine" && echo "engine $engine"
done
fio --enghelp=libaio >/dev/null; echo "options of an engine: $?"
fio --cmdhelp=iodepth | grep -oE '^ *[a-z]+: ' | tr -d ' ' | head -n 3
fio --cmdhelp=all >/dev/null; echo "options: $?"
fio --name=a --rw=read --size=4k --ioengine=null --parse-only >/dev/null; echo "valid: $?"
fio --name=a --rw=sideways --size=4k --parse-only >/dev/null 2>&1; echo "not valid: $?"
fio --name=a --rw=read --filename=missing --size=4k --allow_file_create=0 >/dev/null 2>&1; echo "no file: $?"
fio no-such-file.fio >/dev/null 2>&1; echo "no job file: $?"
fio >/dev/null 2>&1 </dev/null; echo "no job: $?"
fio --no-such-option=1 --name=a >/dev/null 2>&1; echo "no option: $?"
fio --crctest=crc32c >/dev/null; echo "speed of a checksum: $?"
printf '[a]\nrw=read\nsize=4k\n[b]\nbs=8k\nsize=4k\n' >two.fio
fio --showcmd two.fio
