//! Detects a launcher of another MPI. Such a launcher starts the ranks, but each of them believes that it is
//! the only one: every rank would run and report a separate job.

/// The reason why MPI cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// MPI can be initialized once per process.
    #[error("MPI has been entered before in this process")]
    EnteredAlready,
    /// Started by the launcher of another MPI.
    #[error(
        "{started} ranks were started ({variable}), but each of them is alone: this program was built for another MPI than the one that started it; start it with that MPI's own mpirun, or with another srun --mpi= (pmix for Open MPI, pmi2 for MPICH)"
    )]
    OtherMpi {
        /// The expected number of ranks.
        started: usize,
        /// The variable that contains it.
        variable: &'static str,
    },
}

/// Variables in which launchers pass the number of ranks: Open MPI's, MPICH's (and Slurm's for pmi2), and
/// Slurm's for all others. An mpirun within Slurm inherits Slurm's variable, which therefore comes last.
const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Rejects a rank that is alone by mistake.
pub(super) fn check(size: usize, variable: impl Fn(&str) -> Option<String>) -> Result<(), Refusal> {
    let said = VARIABLES.iter().find_map(|name| Some((*name, variable(name)?.parse().ok()?)));
    match said {
        Some((variable, started)) if size == 1 && started > 1 => Err(Refusal::OtherMpi { started, variable }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(size: usize, variables: &[(&str, &str)]) -> Result<(), Refusal> {
        check(size, |name| Some(variables.iter().find(|(own, _)| *own == name)?.1.to_owned()))
    }

    #[test]
    fn a_rank_that_should_not_be_alone_is_refused() {
        for variable in VARIABLES {
            assert_eq!(checked(1, &[(variable, "4")]), Err(Refusal::OtherMpi { started: 4, variable }));
            assert_eq!(checked(4, &[(variable, "4")]), Ok(()));
            assert_eq!(checked(1, &[(variable, "1")]), Ok(()));
            assert_eq!(checked(1, &[(variable, "many")]), Ok(()));
        }
    }

    #[test]
    fn a_program_may_be_alone_without_a_launcher() {
        assert_eq!(checked(1, &[]), Ok(()));
    }

    #[test]
    fn an_mpirun_of_one_rank_within_a_larger_step_is_right() {
        assert_eq!(checked(1, &[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "8")]), Ok(()));
    }
}
