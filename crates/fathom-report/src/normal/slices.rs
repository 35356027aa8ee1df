//! The table of slow reads and the verdict of the `act` profile, in fio's words and columns.

use fathom_stats::slices::SliceReport;

const HEAD: &str = "        trans                   device
        %>(ms)                  %>(ms)
 slice\t  1\t  8\t 64\t  1\t  8\t 64
 -----  -----   -----  ------   -----   -----  ------
";

/// Appends a line per slice. A transaction is one read of the device, so both halves of a line are equal.
pub(super) fn append(text: &mut String, report: &SliceReport) {
    *text += HEAD;
    for (index, slice) in report.slices.iter().enumerate() {
        let shares: String = slice.percent_above().iter().map(|share| format!("\t{share:.2}")).collect();
        *text += &format!("   {:>2}{shares}{shares}\n", index + 1);
    }
    let verdict = if report.passed() { "PASSED" } else { "FAILED" };
    *text += &match report.is_interrupted {
        false => format!("\nact: test complete, device(s): {verdict}\n"),
        true => format!("\nact: test interrupted, device(s) so far: {verdict}\n"),
    };
}
