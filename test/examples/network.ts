/**
 * The network of the documentation's examples: a `fetch` that answers at once, since a real one would not be done before the fake
 * timers have run. What the tests under test/http show over real sockets is only told here; a host's name says how it is.
 */

const ada = { id: '7', name: 'Ada' }
const json = (status: number, headers: Record<string, string> = {}): Response =>
	Response.json(status < 400 ? ada : { error: 'try again later' }, { status, headers })

/** What each host answers, one after the other and from the start again. All others are well. */
const HOSTS: Readonly<Record<string, readonly (() => Response)[]>> = {
	'flaky.example.com': [() => json(503), () => json(500), () => json(200)],
	'busy.example.com': [() => json(429, { 'retry-after': '2' }), () => json(200)],
	'closed.example.com': [() => json(503, { 'retry-after': '3600' })],
	'down.example.com': [() => json(503)],
	'private.example.com': [() => json(401)],
}

/** A new network, in which nobody has been asked for anything yet. */
export function network(): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
	const asked = new Map<string, number>()
	return async (input, init = {}) => {
		init.signal?.throwIfAborted()
		const { host } = new URL(input instanceof Request ? input.url : input)
		const answers = HOSTS[host] ?? [() => json(200)]
		const count = asked.get(host) ?? 0
		asked.set(host, count + 1)
		return answers[count % answers.length]?.() ?? json(200)
	}
}
