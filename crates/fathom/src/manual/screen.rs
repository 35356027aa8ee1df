//! The first screen: what people come for, before the long list of options.

use fathom_answers::COMMANDS;
use std::fmt::Write as _;

/// At most 24 lines of 80 columns.
pub(crate) fn first_screen() -> String {
    let mut text = format!(
        "fathom {}: tests storage. It takes the jobs and command lines of fio 3.42.\n\nAnswers, one command each \
         (fathom COMMAND --help explains it):\n",
        env!("CARGO_PKG_VERSION")
    );
    for command in COMMANDS {
        let call = format!("{} {}", command.name, command.arguments);
        let _ = writeln!(text, "  {call:<28}{}", command.summary);
    }
    text.push_str(
        "\nJobs, as for fio:\n  \
         fathom job.fio                                run a job file\n  \
         fathom --name=a --rw=randread --size=1g ...   the same in words\n  \
         fathom --live job.fio                         watch it on the whole terminal\n  \
         fathom --output-format=json+ --output=FILE job.fio   keep the result\n\n\
         More: fathom --cmdhelp (options of jobs), fathom --enghelp (engines), fathom\n\
         tools, fathom man | man -l - (the manual page), fathom completion SHELL\n",
    );
    text
}
