-- Version 1. Both databases read this file; `{...}` is replaced by what differs between them (schema/mod.rs).

CREATE TABLE host (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    kernel TEXT NOT NULL,
    processor TEXT NOT NULL,
    processors BIGINT NOT NULL,
    memory_bytes BIGINT NOT NULL
);

CREATE TABLE device (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    firmware TEXT NOT NULL,
    serial TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    rotational BIGINT NOT NULL,
    scheduler TEXT NOT NULL,
    write_cache TEXT NOT NULL
);

-- Options in effect for a job, as a JSON list of pairs.
CREATE TABLE workload (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    options TEXT NOT NULL
);

CREATE TABLE run (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    added_ms BIGINT NOT NULL,
    begun_ms BIGINT NOT NULL,
    ended_ms BIGINT NOT NULL,
    program TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    verdict TEXT NOT NULL,
    source TEXT NOT NULL
);
CREATE INDEX run_begun ON run (begun_ms, id);
CREATE INDEX run_fingerprint ON run (fingerprint, begun_ms, id);

CREATE TABLE run_host (
    run_id BIGINT NOT NULL REFERENCES run (id),
    position BIGINT NOT NULL,
    host_id BIGINT NOT NULL REFERENCES host (id),
    label TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) {clustered};
CREATE INDEX run_host_host ON run_host (host_id, run_id);

CREATE TABLE run_device (
    run_id BIGINT NOT NULL REFERENCES run (id),
    position BIGINT NOT NULL,
    device_id BIGINT NOT NULL REFERENCES device (id),
    host TEXT NOT NULL,
    read_ios BIGINT NOT NULL,
    write_ios BIGINT NOT NULL,
    read_bytes BIGINT NOT NULL,
    write_bytes BIGINT NOT NULL,
    busy_percent DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run_id, position)
) {clustered};
CREATE INDEX run_device_device ON run_device (device_id, run_id);

CREATE TABLE run_file_system (
    run_id BIGINT NOT NULL REFERENCES run (id),
    position BIGINT NOT NULL,
    directory TEXT NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    options TEXT NOT NULL,
    transport TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) {clustered};

CREATE TABLE job (
    run_id BIGINT NOT NULL REFERENCES run (id),
    position BIGINT NOT NULL,
    workload_id BIGINT NOT NULL REFERENCES workload (id),
    name TEXT NOT NULL,
    reporting_group BIGINT NOT NULL,
    -- Label of the host.
    host TEXT NOT NULL,
    -- Positions in run_host and run_device; NULL for several.
    on_host BIGINT,
    on_device BIGINT,
    -- Names of all its devices, separated by +.
    devices TEXT NOT NULL,
    verdict TEXT NOT NULL,
    error BIGINT NOT NULL,
    error_message TEXT NOT NULL,
    limits TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) {clustered};
CREATE INDEX job_name ON job (name, run_id);
CREATE INDEX job_workload ON job (workload_id, run_id);

CREATE TABLE direction (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO direction (id, name) VALUES (0, 'read'), (1, 'write'), (2, 'trim'), (3, 'mixed'), (4, 'sync'), (5, 'job');

CREATE TABLE latency (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO latency (id, name) VALUES (0, 'slat'), (1, 'clat'), (2, 'lat'), (3, 'response');

CREATE TABLE figure_name (id {id}, name TEXT NOT NULL UNIQUE);

CREATE TABLE figure (
    run_id BIGINT NOT NULL REFERENCES run (id),
    job BIGINT NOT NULL,
    direction_id BIGINT NOT NULL REFERENCES direction (id),
    figure_id BIGINT NOT NULL REFERENCES figure_name (id),
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run_id, job, direction_id, figure_id)
) {clustered};

CREATE TABLE percentile (
    run_id BIGINT NOT NULL REFERENCES run (id),
    job BIGINT NOT NULL,
    direction_id BIGINT NOT NULL REFERENCES direction (id),
    latency_id BIGINT NOT NULL REFERENCES latency (id),
    percent DOUBLE PRECISION NOT NULL,
    value_ns BIGINT NOT NULL,
    PRIMARY KEY (run_id, job, direction_id, latency_id, percent)
) {clustered};

-- Whole histograms, compressed as histogram.rs describes.
CREATE TABLE histogram (
    run_id BIGINT NOT NULL REFERENCES run (id),
    job BIGINT NOT NULL,
    direction_id BIGINT NOT NULL REFERENCES direction (id),
    latency_id BIGINT NOT NULL REFERENCES latency (id),
    bins {bytes} NOT NULL,
    PRIMARY KEY (run_id, job, direction_id, latency_id)
) {clustered};

CREATE TABLE finding (
    run_id BIGINT NOT NULL REFERENCES run (id),
    position BIGINT NOT NULL,
    code TEXT NOT NULL,
    severity TEXT NOT NULL,
    job TEXT NOT NULL,
    direction TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) {clustered};

CREATE TABLE tag (
    run_id BIGINT NOT NULL REFERENCES run (id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) {clustered};
CREATE INDEX tag_value ON tag (name, value, run_id);

CREATE VIEW runs AS
SELECT run.id AS run_id, {time:run.begun_ms} AS begun_utc, run.begun_ms, run.ended_ms, run.added_ms, run.program,
       run.verdict, run.fingerprint, host.name AS host, host.kernel, device.name AS device, device.model,
       device.firmware, device.serial, run_file_system.kind AS file_system, run.source, run.digest
FROM run
LEFT JOIN run_host ON run_host.run_id = run.id AND run_host.position = 0
LEFT JOIN host ON host.id = run_host.host_id
LEFT JOIN run_device ON run_device.run_id = run.id AND run_device.position = 0
LEFT JOIN device ON device.id = run_device.device_id
LEFT JOIN run_file_system ON run_file_system.run_id = run.id AND run_file_system.position = 0;

CREATE VIEW jobs AS
SELECT job.run_id, job.position AS job, job.name, job.reporting_group, job.host AS label, host.name AS host, host.kernel,
       job.devices AS device, device.model, device.firmware, device.serial, job.verdict, workload.fingerprint,
       workload.options, job.limits, job.error, job.error_message
FROM job
JOIN workload ON workload.id = job.workload_id
LEFT JOIN run_host ON run_host.run_id = job.run_id AND run_host.position = job.on_host
LEFT JOIN host ON host.id = run_host.host_id
LEFT JOIN run_device ON run_device.run_id = job.run_id AND run_device.position = job.on_device
LEFT JOIN device ON device.id = run_device.device_id;

CREATE VIEW figures AS
SELECT figure.run_id, figure.job, job.name AS job_name, direction.name AS direction, figure_name.name AS figure,
       figure.value
FROM figure
JOIN job ON job.run_id = figure.run_id AND job.position = figure.job
JOIN direction ON direction.id = figure.direction_id
JOIN figure_name ON figure_name.id = figure.figure_id;

CREATE VIEW percentiles AS
SELECT percentile.run_id, percentile.job, job.name AS job_name, direction.name AS direction,
       latency.name AS latency, percentile.percent, percentile.value_ns
FROM percentile
JOIN job ON job.run_id = percentile.run_id AND job.position = percentile.job
JOIN direction ON direction.id = percentile.direction_id
JOIN latency ON latency.id = percentile.latency_id;

CREATE VIEW devices AS
SELECT run_device.run_id, run_device.position AS device, device.name, run_device.host, device.model, device.firmware,
       device.serial, device.size_bytes, device.rotational, device.scheduler, device.write_cache,
       run_device.read_ios, run_device.write_ios, run_device.read_bytes, run_device.write_bytes,
       run_device.busy_percent
FROM run_device JOIN device ON device.id = run_device.device_id;

CREATE VIEW hosts AS
SELECT run_host.run_id, run_host.position AS host, run_host.label, host.name, host.kernel, host.processor,
       host.processors, host.memory_bytes
FROM run_host JOIN host ON host.id = run_host.host_id;

CREATE VIEW file_systems AS
SELECT run_id, position AS file_system, directory, kind, source, options, transport FROM run_file_system;

CREATE VIEW findings AS
SELECT run_id, position AS finding, code, severity, job AS job_name, direction, text FROM finding;

CREATE VIEW tags AS SELECT run_id, name, value FROM tag;
