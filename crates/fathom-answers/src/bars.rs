//! Bar charts for the terminal, in block characters or plain letters.

use fathom_command::printer::Letters;

/// Characters that bars are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Unicode blocks.
    Blocks,
    /// ASCII, for terminals without Unicode.
    Letters,
}

impl Ink {
    /// ASCII if `NO_COLOR` or `TERM=dumb` request plain output, or if the locale supports only ASCII.
    pub(crate) fn of_environment() -> Ink {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_letters_only = Letters::of_environment() == Letters::Ascii;
        match has_letters_only
            || is_set("NO_COLOR")
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
        {
            true => Ink::Letters,
            false => Ink::Blocks,
        }
    }

    /// Characters for the part that both sides share, for the excess of the first side, and for the excess of
    /// the second.
    pub(crate) fn overlay(self) -> [char; 3] {
        match self {
            Ink::Blocks => ['█', '▒', '░'],
            Ink::Letters => ['#', 'a', 'b'],
        }
    }

    /// A bar that fills `share` (0 to 1) of `width` columns. Blocks have a resolution of an eighth of a column.
    pub(crate) fn bar(self, share: f64, width: usize) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        match self {
            Ink::Letters => "#".repeat((share * width as f64).round() as usize),
            Ink::Blocks => {
                let eighths = (share * width as f64 * 8.0).round() as usize;
                "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(Ink::Letters.bar(0.5, 10), "#####");
        assert_eq!(Ink::Blocks.bar(0.5625, 2), "█▏");
        assert_eq!(Ink::Blocks.bar(7.0, 2), "██");
        assert_eq!(Ink::Blocks.bar(f64::NAN, 2), "");
    }
}
