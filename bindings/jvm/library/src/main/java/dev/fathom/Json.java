package dev.fathom;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A value of a JSON document. A member that is missing or of another type reads as an empty value: 0, "", or no elements. */
record Json(Object value) {
    private static final JsonFactory FACTORY = new JsonFactory();

    /** Parses one document. */
    static Json parse(String text) throws IOException {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            return new Json(read(parser));
        }
    }

    private static Object read(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            throw new IOException("the document is empty");
        }
        return switch (token) {
            case START_OBJECT -> {
                Map<String, Object> members = new LinkedHashMap<>();
                for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                    parser.nextToken();
                    members.put(name, read(parser));
                }
                yield members;
            }
            case START_ARRAY -> {
                List<Object> elements = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(read(parser));
                }
                yield elements;
            }
            case VALUE_STRING -> parser.getText();
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getNumberValue();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            default -> null;
        };
    }

    Json get(String name) {
        return new Json(value instanceof Map<?, ?> members ? members.get(name) : null);
    }

    List<Json> elements() {
        return value instanceof List<?> list ? list.stream().map(Json::new).toList() : List.of();
    }

    Map<String, Json> members() {
        Map<String, Json> members = new LinkedHashMap<>();
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, member) -> members.put((String) name, new Json(member)));
        }
        return members;
    }

    String text() {
        return value instanceof String text ? text : "";
    }

    long integer() {
        return value instanceof Number number ? number.longValue() : 0;
    }

    double number() {
        return value instanceof Number number ? number.doubleValue() : 0;
    }

    /** Returns the number, or an empty value for null. */
    java.util.OptionalDouble optional() {
        return value instanceof Number number ? java.util.OptionalDouble.of(number.doubleValue()) : java.util.OptionalDouble.empty();
    }

    boolean exists() {
        return value != null;
    }
}
