package dev.fathom;

/**
 * A reason to doubt the figures of a result.
 *
 * @param code its word, such as {@code processor-wait}
 * @param severity {@code wrong}, {@code doubtful} or {@code note}
 * @param job the job it is about; empty if it is about the whole run
 * @param text a sentence
 * @param advice what to do
 */
public record Finding(String code, String severity, String job, String text, String advice) {
    static Finding of(Json finding) {
        return new Finding(finding.get("code").text(), finding.get("severity").text(), finding.get("job").text(),
                finding.get("text").text(), finding.get("advice").text());
    }
}
