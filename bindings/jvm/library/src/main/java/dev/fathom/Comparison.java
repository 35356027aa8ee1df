package dev.fathom;

import java.util.List;
import java.util.OptionalDouble;

/**
 * Two sets of results, compared.
 *
 * @param rows the figures of all jobs that are present on both sides
 * @param failed true if a condition is met
 * @param notes remarks about the method
 * @param warnings other differences between the two sides
 * @param json the complete output of {@code fathom compare}
 */
public record Comparison(List<Row> rows, boolean failed, List<String> notes, List<String> warnings, String json) {
    /**
     * One figure on both sides.
     *
     * @param job the job's name
     * @param direction {@code read}, {@code write} or {@code trim}
     * @param figure such as {@code bandwidth} or {@code p99}
     * @param unit such as {@code bytes/s} or {@code ns}
     * @param a the median of side A
     * @param b the median of side B
     * @param changePercent the change from A to B in percent
     * @param lowPercent lower end of the change's 95 % interval, if there is one
     * @param highPercent its upper end
     * @param verdict such as {@code faster}, {@code slower} or {@code not distinguishable}
     */
    public record Row(String job, String direction, String figure, String unit, OptionalDouble a, OptionalDouble b,
            OptionalDouble changePercent, OptionalDouble lowPercent, OptionalDouble highPercent, String verdict) {
        static Row of(Json row) {
            return new Row(row.get("job").text(), row.get("direction").text(), row.get("figure").text(), row.get("unit").text(),
                    row.get("a_median").optional(), row.get("b_median").optional(), row.get("change_percent").optional(),
                    row.get("change_low").optional(), row.get("change_high").optional(), row.get("verdict").text());
        }
    }

    static Comparison of(Json answer, boolean failed, String json) {
        return new Comparison(answer.get("comparisons").elements().stream().map(Row::of).toList(), failed, texts(answer.get("notes")),
                texts(answer.get("warnings")), json);
    }

    private static List<String> texts(Json list) {
        return list.elements().stream().map(Json::text).toList();
    }
}
