"""Programs that others wrote around fio: what they start, and what they expect to read, with fathom under fio's name.

Their own code runs where a package registry has it. Elsewhere a test does what is known of them from their sources, in its own words.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sysconfig
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import skip

SCRIPTS = sysconfig.get_path("scripts")


def fio(words: str) -> str:
    """What fio prints, as `fio` on the path."""
    environment = {**os.environ, "PATH": f"{SCRIPTS}:/usr/bin:/bin"}
    return subprocess.run(["fio", *words.split()], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def own_code(path: str) -> Path:
    """A file of such a program, which make test-python fetches."""
    file = Path(os.environ.get("FATHOM_TEST_CONSUMERS", "/nonexistent")) / path
    if not file.exists():
        skip(f"{path}: could not be fetched; make test-python does it")
    return file


def decoded_by_go(document: str) -> dict[str, Any]:
    """The document as troubleshoot's structures hold it: Go refuses a number or a text where its field has another type."""
    go = shutil.which("go") or skip("the structures of kubestr and troubleshoot: go is not installed")
    source = own_code("troubleshoot/host_filesystem_performance.go").read_text()
    structures = re.findall(r"^type Fio\w+ struct \{\n.*?^\}\n", source, re.DOTALL | re.MULTILINE)
    assert any("FioResult" in each for each in structures)
    main = """func main() {
        var result FioResult
        if err := json.NewDecoder(os.Stdin).Decode(&result); err != nil { panic(err) }
        if err := json.NewEncoder(os.Stdout).Encode(result); err != nil { panic(err) }
    }"""
    Path("main.go").write_text('package main\nimport ("encoding/json"; "os")\n' + "".join(structures) + main)
    environment = {
        "GOFLAGS": "-mod=mod",
        "GOCACHE": str(own_code("troubleshoot").parent / "go-cache"),
        "HOME": os.getcwd(),
        "GOTOOLCHAIN": "local",
    }
    ran = subprocess.run(
        [go, "run", "main.go"], env={**os.environ, **environment}, input=document, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    decoded: dict[str, Any] = json.loads(ran.stdout)
    return decoded


def test_kubestr_and_troubleshoot_decode_the_json() -> None:
    # kubestr has four jobs like this one; its structures are those of troubleshoot.
    job = """[global]
randrepeat=0
verify=0
ioengine=libaio
direct=1
gtod_reduce=1
[job1]
name=read_iops
bs=4K
iodepth=64
size=16M
readwrite=randread
time_based
ramp_time=1s
runtime=1s
"""
    Path("kubestr.fio").write_text(job)
    text = fio("--directory . kubestr.fio --output-format=json")
    document, decoded = json.loads(text), decoded_by_go(text)
    read, seen = document["jobs"][0]["read"], decoded["jobs"][0]["read"]
    assert seen["io_bytes"] == read["io_bytes"] > 0 and seen["iops"] == pytest.approx(read["iops"], rel=1e-5)
    assert (decoded["global options"]["ioengine"], decoded["jobs"][0]["job options"]["bs"]) == ("libaio", "4K")
    assert decoded["disk_util"][0]["name"] == document["disk_util"][0]["name"]
    # troubleshoot looks at the latencies of fdatasync.
    text = fio(
        "--rw=write --ioengine=sync --fdatasync=1 --directory=. --size=256k --bs=2k --name=fsperf --runtime=5 --output-format=json"
    )
    sync, seen = json.loads(text)["jobs"][0]["sync"]["lat_ns"], decoded_by_go(text)["jobs"][0]["sync"]["lat_ns"]
    assert (seen["min"], seen["max"], seen["N"]) == (sync["min"], sync["max"], sync["N"])
    assert seen["percentile"]["99.000000"] == sync["percentile"]["99.000000"] > 0


def test_lisa_finds_the_figures() -> None:
    tree = ast.parse(own_code("lisa/tools/fio.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    wanted = {"get_result_from_raw_output", "_get_command"}
    classes["Fio"].bases = []
    classes["Fio"].body = [
        node
        for node in classes["Fio"].body
        if (isinstance(node, ast.FunctionDef) and node.name in wanted)
        or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_result_pattern")
    ]
    module = ast.Module([classes["FIOResult"], classes["IoEngine"], classes["Fio"]], [])
    names: dict[str, Any] = {"re": re, "Decimal": Decimal, "Enum": Enum, "BSD": type("BSD", (), {})}
    exec(compile(module, "lisa", "exec"), names)
    tool = names["Fio"]()
    tool.node = SimpleNamespace(os="Linux")
    for mode in ("randread", "write"):
        command = tool._get_command("iteration1", "data", mode, 4, 2, 1, "4K", 16, time_based=True, overwrite=True)
        found = tool.get_result_from_raw_output(mode, fio(command), 4, 2)
        assert found.iops > 0 and found.latency > 0 and found.qdepth == 8


def test_exporters_for_prometheus_find_their_columns() -> None:
    # neoaggelos/fio-exporter, with a smaller file.
    words = (
        "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test --filename=exporter.test --bs=4k --iodepth=32"
    )
    parts = fio(words + " --size=4M --readwrite=randrw --rwmixread=70 --minimal").rstrip("\n").split(";")
    assert float(parts[6]) > float(parts[47]) > 0
    # fio_benchmark_exporter reads version 5 line by line, and percentiles of the whole latency.
    words = "--name=latency --numjobs=1 --ioengine=libaio --direct=1 --bs=4k --iodepth=1 --readwrite=randrw --directory=. --size=4M --runtime=2"
    words += " --time_based --terse-version=5 --lat_percentiles=1 --clat_percentiles=0 --group_reporting"
    output = fio(words + " --status-interval=1 --output-format=terse")
    lines = output.splitlines()
    assert len(lines) >= 2 and all(line.startswith("5;fio-") for line in lines)
    fio(words + " --output-format=terse,json --output=both")
    both = Path("both").read_text()
    parts = both.splitlines()[0].split(";")
    job = json.loads(both[both.index("{") :])["jobs"][0]
    for direction, first in (("read", 5), ("write", 52)):
        figures = job[direction]
        assert int(parts[first + 1]) == figures["bw"] and int(parts[first + 2]) == int(figures["iops"])
        for column, percent in ((first + 22, "90.000000"), (first + 23, "95.000000"), (first + 24, "99.000000")):
            name, value = parts[column].split("=")
            assert name == percent + "%" and int(value) == figures["lat_ns"]["percentile"][percent] // 1000
        least, most, mean = (float(parts[column]) for column in range(first + 32, first + 35))
        assert (least, most) == (figures["lat_ns"]["min"] // 1000, figures["lat_ns"]["max"] // 1000)
        assert mean == pytest.approx(figures["lat_ns"]["mean"] / 1000, abs=0.01)
        columns = {36: "bw_min", 37: "bw_max", 39: "bw_mean", 42: "iops_min", 43: "iops_max", 44: "iops_mean"}
        for column, key in columns.items():
            assert float(parts[first + column]) == pytest.approx(figures[key], abs=0.01), key
    assert float(parts[146].strip("%")) == pytest.approx(job["usr_cpu"], abs=0.01)
    assert sum(float(part.strip("%")) for part in parts[151:158]) == pytest.approx(100, abs=0.5)


def test_yabs_finds_its_columns() -> None:
    script = """
        set -e
        fio --name=setup --ioengine=libaio --rw=read --bs=64k --iodepth=64 --numjobs=2 --size=16M --runtime=1 --gtod_reduce=1 \
            --filename=./test.fio --direct=1 --minimal &>/dev/null
        line=$(timeout 35 fio --name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 --size=16M \
            --runtime=30 --gtod_reduce=1 --direct=1 --filename=./test.fio --group_reporting --minimal 2>/dev/null | grep rand_rw_4k)
        for column in 7 8 48 49; do
            echo "$line" | awk -F';' "{ print \\$$column }"
        done
    """
    environment = {**os.environ, "PATH": f"{SCRIPTS}:/usr/bin:/bin"}
    said = subprocess.run(["bash", "-c", script], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    read_kib, read_iops, write_kib, write_iops = map(int, said.split())
    assert read_kib > 0 and write_kib > 0
    assert abs(read_kib - 4 * read_iops) < 4 and abs(write_kib - 4 * write_iops) < 4


def test_cbt_reads_the_json_and_the_description() -> None:
    # Its options stand before --name, so they are the global ones.
    words = "--ioengine=psync --rw=randrw --rwmixread=70 --rwmixwrite=30 --bs=4096B --iodepth=1 --numjobs=2 --size=1M --runtime=1 --time_based"
    words += " --direct=0 --write_iops_log=output.0 --output-format=json --name=cbt"
    document = json.loads(fio(words))
    wanted = {"iodepth": "1", "write_iops_log": "output.0", "bs": "4096B", "rw": "randrw", "numjobs": "2", "runtime": "1"}
    assert {key: document["global options"][key] for key in wanted} == wanted
    assert (document["global options"]["rwmixread"], document["global options"]["rwmixwrite"]) == ("70", "30")
    for job in document["jobs"]:
        for direction in ("read", "write"):
            kinds = [type(job[direction][key]) for key in ("io_bytes", "bw_bytes", "iops", "total_ios", "clat_ns")]
            assert kinds == [int, int, float, int, dict]
            assert job[direction]["clat_ns"]["mean"] > 0 and job[direction]["clat_ns"]["stddev"] >= 0
    # Its older parser finds the columns of one device in terse lines, and then its own words, which are the description.
    words = "--name=t --rw=randread --filename=data --size=1M --output-format=terse --description=host;randread;4096;16;1"
    parts = fio(words).rstrip("\n").split(";")
    assert parts[-5:] == ["host", "randread", "4096", "16", "1"]
    if len(parts) != 135:
        skip(f"cbt's columns after the device: {len(parts) - 126} columns of devices here, and it counts on those of one")
    assert float(parts[6]) > 0 and int(parts[5]) == 1024


def test_ezfio_reads_json_and_logs() -> None:
    job = """[test-data]
readwrite=randrw
rwmixwrite=30
bs=4096
invalidate=1
end_fsync=0
group_reporting=1
direct=1
filename=data
size=16M
time_based=1
runtime=3
ioengine=libaio
numjobs=2
iodepth=4
norandommap=1
randrepeat=0
thread=1
exitall=1
offset=0G
write_iops_log=out
write_lat_log=out
log_avg_msec=1000
log_unix_epoch=0
"""
    Path("job").write_text(job)
    text = fio("job --output-format=json+")
    client = json.loads(text[text.index("{") :])["jobs"][0]
    for direction in ("read", "write"):
        figures = client[direction]
        assert figures["iops"] > 0 and figures["lat_ns"]["mean"] > 0
        bins = figures["clat_ns"]["bins"]
        assert sum(bins.values()) == figures["total_ios"] and all(int(latency) > 0 for latency in bins)
    for kind in ("iops", "clat", "slat"):
        files = list(Path(".").glob(f"out_{kind}.*log"))
        assert len(files) == 2
        for file in files:
            entries = [[int(part) for part in line.split(",")[:3]] for line in file.read_text().splitlines()]
            assert {entry[2] for entry in entries} == {0, 1} and all(entry[1] >= 0 for entry in entries)
            assert [entry[0] for entry in entries] == sorted(entry[0] for entry in entries)


@pytest.mark.parametrize(("rw", "word"), [("randread", "READ"), ("write", "WRITE")])
def test_the_profile_of_phoronix_finds_its_figures(rw: str, word: str) -> None:
    job = f"""[global]
rw={rw}
ioengine=io_uring
iodepth=64
size=16m
direct=1
startdelay=1
force_async=4
ramp_time=1
runtime=1
group_reporting=1
numjobs=2
time_based
disk_util=0
clat_percentiles=0
disable_lat=1
disable_clat=1
disable_slat=1
filename=fiofile
[test]
name=test
bs=4k
stonewall
"""
    Path("test.fio").write_text(job)
    lines = fio("test.fio").splitlines()
    # One line with each, and the first word after the sign is a number with the unit that a parser strips.
    (rate,) = [line for line in lines if ": bw=" in line]
    assert rate.split(":")[0].strip() == word
    assert re.fullmatch(r"[0-9.]+(KiB/s|MiB/s|GiB/s)", rate.split("bw=")[1].split()[0]), rate
    (operations,) = [line for line in lines if "IOPS=" in line]
    assert re.fullmatch(r"[0-9.]+k?,", operations.split("IOPS=")[1].split()[0]), operations
