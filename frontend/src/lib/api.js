// The HTTP API as pages ask it: JSON both ways; what it refuses comes back with its problems.

import { token } from "./live.js";

export const API = "/api/v3";

// What the server says is shown as it is, so it is asked for in the page's language.
const LANGUAGE = { "X-Language": document.documentElement.lang.slice(0, 2) };

// { ok, status, body }; status 0 where the server does not answer.
export async function call(path, body, headers = {}) {
  const options = body === undefined ? { headers: LANGUAGE } : { method: "POST", body: JSON.stringify(body),
    headers: { ...LANGUAGE, "Content-Type": "application/json", "X-CSRFToken": token(), ...headers } };
  try {
    const response = await fetch(`${API}${path}`, options);
    return { ok: response.ok, status: response.status, body: await response.json() };
  } catch {
    return { ok: false, status: 0, body: null };
  }
}
