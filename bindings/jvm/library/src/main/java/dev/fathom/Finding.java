package dev.fathom;

/**
 * A reason to doubt the figures of a result.
 *
 * @param code its identifier, such as {@code processor-wait}
 * @param severity {@code wrong}, {@code doubtful} or {@code note}
 * @param job the affected job; empty if the finding concerns the whole run
 * @param text a one-sentence description
 * @param advice the recommended action
 */
public record Finding(String code, String severity, String job, String text, String advice) {
    static Finding of(Json finding) {
        return new Finding(finding.get("code").text(), finding.get("severity").text(), finding.get("job").text(),
                finding.get("text").text(), finding.get("advice").text());
    }
}
