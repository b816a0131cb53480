// Talks to the server: the token, requests, and errors as one sentence.

const KEY = "styleforge-token";

// The address that the program prints ends in #token=...; it does not stay in the address bar, and
// is never sent in an address. A cookie would be sent to every other port of this machine, too.
export function keepToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
}

export function setToken(token) {
  sessionStorage.setItem(KEY, token.trim());
}

export class Problem extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

// The answer of a request; a Problem, if it is none.
export async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "the server does not answer; is it still running?");
  }
  if (answer.ok) return answer;
  const type = answer.headers.get("Content-Type") ?? "";
  const told = type.includes("problem+json") ? (await answer.json()).detail : answer.statusText;
  throw new Problem(answer.status, told);
}
