/**
 * The `fetch` of the examples in the documentation. It responds immediately, because fake timers do not wait for real sockets; the tests
 * under test/http use those. The name of a host says how it behaves. Requests to localhost reach the server that an example has started.
 */

const ada = { id: '7', name: 'Ada' }
const json = (status: number, headers: Record<string, string> = {}): Response =>
	Response.json(status < 400 ? ada : { error: 'try again later' }, { status, headers })

/** The responses of each host, in a cycle. All other hosts succeed. */
const HOSTS: Readonly<Record<string, readonly (() => Response)[]>> = {
	'flaky.example.com': [() => json(503), () => json(500), () => json(200)],
	'busy.example.com': [() => json(429, { 'retry-after': '2' }), () => json(200)],
	'closed.example.com': [() => json(429, { 'retry-after': '3600' })],
	'down.example.com': [() => json(503)],
	'private.example.com': [() => json(401)],
}

/** Returns a fetch that has received no request yet. */
export function network(): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
	const requests = new Map<string, number>()
	const overLoopback = globalThis.fetch
	return async (input, init = {}) => {
		init.signal?.throwIfAborted()
		const { host, hostname } = new URL(input instanceof Request ? input.url : input)
		if (hostname === 'localhost') return overLoopback(input, init)
		const responses = HOSTS[host] ?? [() => json(200)]
		const count = requests.get(host) ?? 0
		requests.set(host, count + 1)
		return responses[count % responses.length]?.() ?? json(200)
	}
}
