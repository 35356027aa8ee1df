// What may be inserted at a position in a job file: an option, or one of its values. Pure functions of the text.

// The word before the cursor, its kind, and the option that it belongs to.
export function wordAt(text, cursor) {
  const start = text.lastIndexOf("\n", cursor - 1) + 1;
  const line = text.slice(start, cursor);
  const end = text.indexOf("\n", cursor);
  const rest = text.slice(cursor, end < 0 ? text.length : end);
  if (/^\s*[;#[]/.test(line)) return null;
  const equals = line.indexOf("=");
  if (equals >= 0) {
    const option = line.slice(0, equals).trim();
    // Values with arguments or lists are completed word by word.
    const from = Math.max(equals, line.lastIndexOf(","), line.lastIndexOf(":")) + 1;
    return { kind: "value", option, word: line.slice(from).trimStart(), start: start + from, isAtEnd: /^\s*$/.test(rest) };
  }
  const word = line.trimStart();
  return { kind: "option", option: word, word, start: start + line.length - word.length, isAtEnd: /^\s*$/.test(rest) };
}

export function engineOf(text, cursor) {
  const before = text.slice(0, cursor).match(/^[ \t]*ioengine[ \t]*=[ \t]*([\w-]+)/gm);
  const last = (before ?? text.match(/^[ \t]*ioengine[ \t]*=[ \t]*([\w-]+)/gm) ?? []).pop();
  return last ? last.split("=")[1].trim() : null;
}

export function find(options, name, engine) {
  const named = options.filter((option) => option.name === name || option.aliases.includes(name));
  return named.find((option) => option.engine === engine) ?? named.find((option) => option.engine === "") ?? named[0] ?? null;
}

// Maximum number of suggestions; those that begin with the word come first.
const MOST = 40;

export function completions(options, text, cursor) {
  const at = wordAt(text, cursor);
  if (!at || !at.isAtEnd) return { at, list: [] };
  const engine = engineOf(text, cursor);
  if (at.kind === "value") {
    const option = find(options, at.option, engine);
    const values = option ? option.values.filter(([value]) => value.startsWith(at.word) && value !== at.word) : [];
    return { at, list: values.map(([value, help]) => ({ text: value, help, insert: value })) };
  }
  if (at.word.length < 1) return { at, list: [] };
  const usable = options.filter((option) => option.engine === "" || option.engine === engine);
  const starts = usable.filter((option) => option.name.startsWith(at.word));
  const holds = usable.filter((option) => !option.name.startsWith(at.word) && option.name.includes(at.word));
  const found = [...starts, ...(at.word.length > 1 ? holds : [])].slice(0, MOST);
  return {
    at,
    list: found.map((option) => ({ text: option.name, help: option.summary, insert: option.needs_value ? `${option.name}=` : option.name })),
  };
}
