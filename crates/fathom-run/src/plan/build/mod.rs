//! From typed jobs to workers: clones, groups, stages, and one builder per feature. No other code in this crate
//! reads options. The builders produce the plain data types of [`super::model`].

mod arrivals;
mod block_errors;
mod budget;
mod errors;
mod exit;
mod files;
mod flow;
mod latency;
mod logs;
mod memory;
mod names;
mod pace;
mod payload;
mod placement;
mod priority;
mod questions;
mod queue;
mod replay;
mod report;
mod syncs;
mod targets;
mod time;
mod verify;
mod zones;

use super::model::replay::ReplayPlan;
use super::model::targets::TargetPlan;
use super::model::{Plan, WorkerPlan};
use crate::plan::PlanError;
use crate::random::Seeds;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::depth::IoSubmitMode;
use fathom_spec::value::Rw;
use fathom_spec::{JobSpec, RunSpec, Trigger};
use fathom_stats::Direction;
use questions::{has_own_seeds, verifies};
use replay::{Log, ReplayPlanner};
use std::path::{Path, PathBuf};

/// One clone of a job, with the data that several builders need.
struct Subject<'a> {
    spec: &'a RunSpec,
    job: &'a JobSpec,
    engine: EngineDef,
    place: Place,
    /// The log to replay.
    log: Option<&'a Log>,
    /// The log to replay, if it is readable.
    replay: Option<&'a ReplayPlan>,
    targets: TargetPlan,
    passes_end_by_size: bool,
    goes_again_through_holes: bool,
}

/// Position of a clone in the run, as in [`WorkerPlan`].
#[derive(Clone, Copy)]
struct Place {
    job: usize,
    thread_number: u32,
    subjob: u32,
    group_id: u32,
    stage: u32,
    waits_for: Option<usize>,
}

impl Subject<'_> {
    /// The job's directions: whether it reads, writes and trims.
    fn directions(&self) -> [bool; 3] {
        Direction::ALL.map(|direction| match self.replay {
            Some(replay) => replay.uses(direction),
            None => self.targets.used_directions().contains(&direction),
        })
    }

    /// The path of a log or state file: relative names are relative to `--aux-path`.
    fn beside(&self, name: impl AsRef<Path>) -> PathBuf {
        beside(self.spec, name)
    }
}

impl Plan {
    /// Plans a run. `engine` looks up an engine by name.
    pub fn new(spec: &RunSpec, engine: impl Fn(&str) -> Option<EngineDef>) -> Result<Plan, PlanError> {
        let mut plan = Plan {
            trigger: Some(spec.program.trigger.clone()).filter(Trigger::fires),
            global_options: fathom_spec::engines::without_secrets(&spec.global_options),
            jobs: spec.jobs.clone(),
            workers: Vec::new(),
            readonly: spec.program.readonly,
            layers: spec.program.layers,
            debug: spec.program.debug.clone(),
            bandwidth_log: spec.program.bandwidth_log.as_ref().map(|prefix| beside(spec, prefix)),
        };
        let (mut group_id, mut stage, mut clones) = (0, 0, 0);
        let mut replays = ReplayPlanner::default();
        for (index, job) in spec.jobs.iter().enumerate() {
            if index > 0 {
                stage += u32::from(job.threads.stonewall);
                group_id += u32::from(job.threads.stonewall || job.measurement.new_group);
            }
            let name = job.engine.ioengine.name.as_str();
            let engine = engine(name).ok_or_else(|| not_there(name))?;
            refuse_changes(spec, job, &engine)?;
            let waits_for = waitee(spec, index, job)?;
            if !runs_here(spec, job)? {
                // Clones are numbered identically on all hosts, so clones of other hosts' jobs count as well.
                clones += job.job_description.numjobs;
                continue;
            }
            let replays = replays.plans(job, spec.program.readonly)?;
            for subjob in 0..job.job_description.numjobs {
                clones += 1;
                let thread_number = clones;
                let place = Place { job: index, thread_number, subjob, group_id, stage, waits_for };
                let log = replays.get(subjob as usize % replays.len().max(1));
                plan.workers.push(worker(subject(spec, job, engine, place, log))?);
            }
        }
        payload::share_working_sets(&mut plan)?;
        verify::number_ledgers(&mut plan.workers);
        verify::mark_shared_blocks(&mut plan);
        Ok(plan)
    }
}

/// The error for an engine that this build does not have.
fn not_there(name: &str) -> PlanError {
    match engines::ALL.iter().any(|engine| engine.name == name && engine.optional) {
        true => PlanError::EngineLeftOut(name.to_owned()),
        false => PlanError::UnknownEngine(name.to_owned()),
    }
}

fn subject<'a>(
    spec: &'a RunSpec,
    job: &'a JobSpec,
    engine: EngineDef,
    place: Place,
    log: Option<&'a Log>,
) -> Subject<'a> {
    let replay = log.map(|log| &log.plan).filter(|plan| plan.failure.is_none());
    let passes_end_by_size = replay.is_none() && passes_end_by_size(job, &engine);
    let targets = targets::target_plan(job, &engine, passes_end_by_size, replay);
    let goes_again_through_holes = verify::goes_again_through_holes(job, &targets);
    Subject { spec, job, engine, place, log, replay, targets, passes_end_by_size, goes_again_through_holes }
}

/// The complete plan of a clone, from all builders.
fn worker(subject: Subject<'_>) -> Result<WorkerPlan, PlanError> {
    let Subject { spec, job, engine, place, .. } = subject;
    let thread_number = place.thread_number;
    // A job that only verifies must not replace the state that it checks against.
    let leaves_state = spec.program.trigger.fires() && !job.verification.verify_only;
    Ok(WorkerPlan {
        job: place.job,
        name: job.name.clone(),
        thread_number,
        subjob: place.subjob,
        group_id: place.group_id,
        stage: place.stage,
        waits_for: place.waits_for,
        engine: job.engine.ioengine.name.clone(),
        storage: engine.storage,
        metadata: engine.metadata,
        always_changes: engine.always_changes,
        background: engine.background_load(job),
        is_thread: job.threads.thread,
        placement: placement::placement_plan(&subject),
        memory: memory::memory_plan(job),
        command_before: job.threads.exec_prerun.clone(),
        command_after: job.threads.exec_postrun.clone(),
        files: files::files_plan(&subject),
        amounts: files::amounts(&subject),
        budget: budget::budget_plan(&subject),
        time: time::time_plan(job),
        pace: pace::pace_plan(&subject),
        arrivals: arrivals::arrivals_plan(&subject)?,
        flow: flow::flow_plan(job),
        latency: latency::latency_plan(&subject),
        depth: queue::depth(job),
        queue: queue::queue_plan(job),
        ranges: job.engine.num_range.max(1),
        syncs: syncs::sync_plan(&subject),
        exit: exit::exit_plan(job),
        steady: report::steady_plan(job),
        report: report::report_plan(&subject),
        errors: errors::error_plan(job),
        payload: payload::payload_rule(job, subject.targets.lengths[Direction::Write].min()),
        zones: zones::zone_plan(&subject),
        block_bytes: block_errors::block_bytes(&subject)?,
        command_priorities: priority::command_priorities(job, &engine),
        logs: logs::log_plan(&subject),
        // Engines that move no data have no data to verify.
        verify: if engine.moves_data() { verify::verify_plan(&subject)? } else { None },
        replay: subject.log.map(|log| log.plan.clone()),
        recording: job.replay.write_iolog.as_ref().map(PathBuf::from),
        triggered_state: leaves_state
            .then(|| subject.beside(verify::state_file(names::LOCAL, job, thread_number))),
        seeds: seeds(job, thread_number),
        has_own_seeds: has_own_seeds(job),
        target_plan: subject.targets,
    })
}

/// The path of a log or state file: relative names are relative to `--aux-path`.
fn beside(spec: &RunSpec, name: impl AsRef<Path>) -> PathBuf {
    match &spec.program.aux_path {
        Some(directory) => directory.join(name),
        None => name.as_ref().to_path_buf(),
    }
}

/// True if a pass over the files ends after as many bytes as the files have, and the next pass starts from the
/// beginning. This is how engines with a queue behave; synchronous engines continue to the end of the targets,
/// and so do jobs that end only by time and do not read their data back. A trim is never separated from its
/// write.
fn passes_end_by_size(job: &JobSpec, engine: &EngineDef) -> bool {
    let queues = job.depth.iodepth >= engine.queues_from && job.depth.io_submit_mode == IoSubmitMode::Inline;
    let trims_first = matches!(job.io_type.rw.rw, Rw::TrimWrite | Rw::RandTrimWrite);
    // Sequential writes beyond the end of the files are all issued before any data is read back.
    let writes_on = verifies(job) && job.io_type.rw.rw == Rw::Write && questions::goes_beyond_a_pass(job);
    queues && !trims_first && !writes_on && (verifies(job) || !job.time.time_based)
}

/// The seeds of the worker with this number, from 1.
fn seeds(job: &JobSpec, thread_number: u32) -> Seeds {
    match has_own_seeds(job) {
        true => Seeds::new(job.io_type.randseed, thread_number),
        false => Seeds::from_system(),
    }
}

/// With `--readonly` no names are created or removed and no space is allocated, whatever the direction of the
/// I/O.
fn refuse_changes(spec: &RunSpec, job: &JobSpec, engine: &EngineDef) -> Result<(), PlanError> {
    // `mem=mmap:FILE` creates the file and writes to it, which `--readonly` forbids.
    if let (Some(path), true) = (&job.buffers.mem.file, spec.program.readonly) {
        return Err(PlanError::ReadonlyMemory { job: job.name.clone(), path: path.into() });
    }
    let changes = engine.always_changes || engine.metadata.is_some_and(|metadata| metadata.changes_names());
    match changes && spec.program.readonly {
        false => Ok(()),
        true => Err(PlanError::ReadonlyEngine { job: job.name.clone(), engine: engine.name }),
    }
}

/// True if this host runs the job (`host=`).
fn runs_here(spec: &RunSpec, job: &JobSpec) -> Result<bool, PlanError> {
    let wanted = job.wanted_hosts();
    match &spec.place {
        Some(place) => Ok(place.runs(wanted)),
        None if wanted.is_empty() => Ok(true),
        None => Err(PlanError::NoHosts { job: job.name.clone(), hosts: wanted.join(",") }),
    }
}

fn waitee(spec: &RunSpec, index: usize, job: &JobSpec) -> Result<Option<usize>, PlanError> {
    let Some(name) = &job.threads.wait_for else { return Ok(None) };
    match spec.jobs[..index].iter().position(|earlier| &earlier.name == name) {
        Some(position) => Ok(Some(position)),
        None => Err(PlanError::UnknownWaitee { job: job.name.clone(), waitee: name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::files::Names;
    use fathom_spec::engines::libaio::DEFINITION as LIBAIO;
    use fathom_spec::engines::plain::NULL;
    use fathom_spec::{Outcome, SystemSource, parse};

    fn plan_with(engine: EngineDef, words: &str) -> Plan {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let outcome = parse("fathom", &words, &SystemSource::new(4096));
        let Outcome::Run(spec) = outcome else { panic!("{words:?}: {outcome:?}") };
        Plan::new(&spec, |_| Some(engine)).expect("a plan")
    }

    fn plan(words: &str) -> Plan {
        plan_with(NULL, words)
    }

    #[test]
    fn an_engine_that_the_build_leaves_out_says_where_it_is() {
        let words = ["--name=a", "--ioengine=libhdfs", "--size=1m"].map(str::to_owned);
        let outcome = parse("fathom", &words, &SystemSource::new(4096));
        let Outcome::Run(spec) = outcome else { panic!("{outcome:?}") };
        let problem = Plan::new(&spec, |_| None).expect_err("there is no engine");
        assert!(matches!(&problem, PlanError::EngineLeftOut(name) if name == "libhdfs"), "{problem}");
        let problem = problem.to_string();
        assert!(problem.starts_with("fio: engine libhdfs not loadable\n"), "{problem}");
        assert!(problem.contains("--features libhdfs"), "{problem}");
    }

    #[test]
    fn clones_groups_and_stages() {
        let plan = plan(
            "--ioengine=null --size=1m --name=a --numjobs=2 --name=b --new_group --name=c --stonewall --name=d",
        );
        let summary: Vec<(usize, u32, u32, u32, u32)> =
            plan.workers.iter().map(|w| (w.job, w.thread_number, w.subjob, w.group_id, w.stage)).collect();
        assert_eq!(
            summary,
            [(0, 1, 0, 0, 0), (0, 2, 1, 0, 0), (1, 3, 0, 1, 0), (2, 4, 0, 2, 1), (3, 5, 0, 2, 1)]
        );
    }

    fn survives_serialisation(plan: &Plan) {
        let text = serde_json::to_string(plan).expect("serialises");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("parses"), *plan);
    }

    #[test]
    fn a_plan_survives_serialisation() {
        survives_serialisation(&plan(
            "--ioengine=null --size=1m --bssplit=4k/60:8k/40 --rw=randrw --random_distribution=zoned:60/10:40/90 \
             --name=a --rate=1m,2m --name=b --runtime=5 --time_based --percentile_list=50:99.9",
        ));
    }

    #[test]
    fn a_plan_with_something_of_every_feature_survives_serialisation() {
        let plan = plan_with(
            LIBAIO,
            "--ioengine=libaio --size=1m --directory=/:/tmp --rw=randrw \
             --name=queue --iodepth=16 --iodepth_batch=4 --iodepth_low=2 --serialize_overlap=1 --nrfiles=3 --openfiles=2 \
             --filesize=64k-1m --offset=10% --offset_increment=5% --file_service_type=zipf:1.2 --lockfile=readwrite \
             --fallocate=keep --fadvise_hint=noreuse --write_hint=short --unlink=1 --ramp_time=1 --startdelay=1-2 \
             --name=pace --rate=1m,2m --rate_process=poisson --rate_min=1k --thinktime=10 --thinktime_blocks=4 --flow=2 \
             --latency_target=1ms --latency_window=1s --max_latency=1s --runtime=5 --time_based --write_lat_log=l \
             --write_iolog=i --prio=3 --cmdprio_percentage=30 --loops=2 --number_ios=1k \
             --name=place --numjobs=2 --cpus_allowed=0,1 --cpus_allowed_policy=split --nice=1 --uid=0 --gid=0 --cgroup=c \
             --cgroup_weight=100 --exec_prerun=true --exec_postrun=true --mem=mmapshared:m --lockmem=4k --ignore_error=EIO,28 \
             --continue_on_error=read --buffer_compress_percentage=50 --dedupe_percentage=20 --dedupe_mode=working_set \
             --name=check --rw=write --verify=crc32c --verify_backlog=16 --verify_pattern=0x1234 --trim_percentage=10 --fsync=8 \
             --write_barrier=4 --end_fsync=1 --verify_state_save=1 \
             --name=zones --rw=randwrite --zonemode=zbd --zonesize=64k --max_open_zones=4 --zone_reset_threshold=0.5 \
             --name=strided --rw=read --zonemode=strided --zonesize=64k --zoneskip=64k --name=spread --rw=randwrite --sprandom=1",
        );
        survives_serialisation(&plan);
        let any = |has: fn(&WorkerPlan) -> bool| plan.workers.iter().any(has);
        assert!(any(|worker| worker.command_before.is_some() && worker.placement.control_group.is_some()));
        assert!(any(|worker| worker.pace.is_some()
            && worker.flow.is_some()
            && worker.latency.search.is_some()));
        assert!(any(|worker| worker.command_priorities.is_some() && worker.logs.is_some()));
        assert!(any(|worker| worker.verify.as_ref().is_some_and(|verify| verify.trims.is_some())));
        assert!(any(|worker| worker.zones.is_some()) && any(|worker| worker.target_plan.stride.is_some()));
        assert!(any(|worker| worker.time.ramp.is_some() && worker.files.part.lengths.is_some()));
    }

    #[test]
    fn a_plan_of_a_replay_survives_serialisation() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let lines =
            "fio version 3 iolog\n1 f add\n2 f open\n3 f write 0 4096\n4 f read 4096 512\n5 f close\n";
        std::fs::write(&log, lines).expect("a log");
        let words = format!("--ioengine=psync --name=a --directory=/ --read_iolog={}", log.display());
        let plan = plan_with(LIBAIO, &words);
        survives_serialisation(&plan);
        let worker = &plan.workers[0];
        assert!(
            worker
                .replay
                .as_ref()
                .is_some_and(|replay| replay.failure.is_none() && replay.uses(Direction::Write))
        );
        assert_eq!(worker.files.names.names, Names::Listed(vec!["f".into()]));
    }

    #[test]
    fn names_of_files_are_ready_but_for_their_number() {
        let plan = plan_with(
            LIBAIO,
            "--ioengine=psync --size=1m --name=a/b --numjobs=2 --nrfiles=2 --filename_format=$JOBNAME.$jobnum/$filenum-$filenum",
        );
        let paths = crate::files::names::planned_paths(&plan.workers[1].files.names);
        assert_eq!(paths, [PathBuf::from("a/b.1/0-0"), PathBuf::from("a/b.1/1-1")]);
    }

    #[test]
    fn the_generator_follows_the_rule() {
        let offsets = |words: &str| plan(words).workers[0].target_plan.random_offsets();
        assert_eq!(offsets("--ioengine=null --size=1m --name=a --rw=randread"), Some("permutation"));
        assert_eq!(
            offsets("--ioengine=null --size=1m --name=a --rw=randread --norandommap"),
            Some("tausworthe")
        );
        assert_eq!(
            offsets("--ioengine=null --size=1m --name=a --rw=randread --bsrange=4k-8k"),
            Some("tausworthe")
        );
        let named = "--ioengine=null --size=1m --name=a --rw=randread --random_generator=tausworthe";
        assert_eq!(offsets(named), Some("tausworthe"));
        assert_eq!(offsets("--ioengine=null --size=1m --name=a --rw=read"), None);
    }
}
