// Requests to the server. Failures become errors with a message for the user.

export class Problem extends Error {
  constructor(text, status, details) {
    super(text);
    this.status = status;
    this.details = details;
  }
}

async function ask(method, path, document) {
  const options = { method, credentials: "same-origin" };
  if (method === "POST") {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(document ?? {});
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem("The server does not answer. Runs go on without it; start fathom serve again and open the address that it prints.", 0, {});
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Problem(answer.problem ?? `The server answers ${response.status}.`, response.status, answer);
  }
  return answer;
}

// The text of a file; empty if it cannot be read.
export async function textOf(path) {
  const response = await fetch(path, { credentials: "same-origin" }).catch(() => null);
  return response?.ok ? response.text() : "";
}

export const get = (path) => ask("GET", path);
export const post = (path, document) => ask("POST", path, document);
