/* The server, below the path that the page came from: a proxy may have put one in front. */
const root = location.origin + location.pathname.replace(/[^/]*$/, '');
const KEY = 'halite.authorization';

export class Failed extends Error {
  constructor(public status: number, message: string) { super(message); }
}

export const url = (path: string) => root + path;

/* What the user typed into the login, for this tab. */
let authorization = sessionStorage.getItem(KEY) || '';
export const hasTried = () => authorization !== '';
export const login = (name: string, secret: string) => {
  authorization = name ? 'Basic ' + btoa(unescape(encodeURIComponent(name + ':' + secret))) : 'Bearer ' + secret;
  sessionStorage.setItem(KEY, authorization);
};

let loggedOut: () => void = () => undefined;
export const onLogin = (f: () => void) => { loggedOut = f; };

/* The sentence of an error: of JSON, or of a page (of /q, of a proxy). */
function messageOf(text: string): string {
  try {
    return JSON.parse(text).error.message;
  } catch {
    const body = new DOMParser().parseFromString(text, 'text/html').body;
    return ((body.querySelector('p') || body).textContent || '').trim().slice(0, 300);
  }
}

/* No answer at all has status 0. */
const reached = <T>(p: Promise<T>): Promise<T> =>
  p.catch(e => { throw aborted(e) || e instanceof SyntaxError ? e : new Failed(0, 'The server does not answer'); });
/* Did it fail for now, whatever was asked? */
export const isAway = (e: unknown) => e instanceof Failed && (!e.status || e.status > 501);

export async function ask(path: string, o: RequestInit = {}): Promise<Response> {
  const headers: Record<string, string> = { 'X-Requested-With': 'halite' };   // no browser's own dialogue after a 401
  if (authorization) headers.Authorization = authorization;
  if (o.body) headers['Content-Type'] = 'application/json';
  const r = await reached(fetch(root + path, { ...o, headers }));
  if (r.ok) return r;
  if (r.status === 401) loggedOut();
  throw new Failed(r.status, messageOf(await reached(r.text())) || r.statusText);
}

export const json = async (path: string, o?: RequestInit): Promise<any> => {
  const r = await ask(path, o);
  return r.status === 204 ? null : reached(r.json());
};

export const post = (path: string, body: unknown, method = 'POST') => json(path, { method, body: JSON.stringify(body) });

/* At most one request of a kind at a time: a new one cancels the one before. */
export class Latest {
  private c: AbortController | null = null;
  next(): AbortSignal {
    this.stop();
    this.c = new AbortController();
    return this.c.signal;
  }
  stop() { this.c?.abort(); this.c = null; }
}

export const aborted = (e: unknown) => (e as Error)?.name === 'AbortError';
