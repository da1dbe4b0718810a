/** A redirect must not let one origin pause another, open its circuit, or receive its keys. */
import { describe, expect, it, vi } from 'vitest'
import { CREDENTIAL_HEADERS } from '../../../src/http/headers/request-headers.ts'
import { answer, type FaultServer, hang, refusedUrl, type Step } from '../faults/fault-server.ts'
import type { Script } from '../faults/script.ts'
import { FETCHES, failure, type SetupOptions, serve, setup, textOf } from './setup.ts'

const FINE = answer({ body: 'fine' })
const EAGER: SetupOptions = { maxRetries: 0, circuitBreaker: { failureThreshold: 2 } }

const redirectTo = (location: string, status = 302): Step => answer({ status, headers: { location } })

describe.each(FETCHES)('a redirect to another origin over %s', (_, fetch) => {
	/** A client of `good`, whose `/go` redirects to `evil`. */
	const between = async (evil: Script<Step>, options: SetupOptions = {}, status = 302) => {
		const other = await serve(evil)
		const script = { '/go': redirectTo(other.url('/there'), status), '/': FINE }
		return { ...(await setup(fetch, script, options)), other }
	}

	it('a redirect to another origin that responds with Retry-After does not pause the first origin', async () => {
		const busy = answer({ status: 429, headers: { 'retry-after': '3600' } })
		const { client, server, other } = await between(busy, EAGER)
		expect(await failure(client.get(server.url('/go')))).toMatchObject({ statusCode: 429 })
		expect(await textOf(client.get(server.url('/')))).toBe('fine')
		expect(Object.keys(client.stats.origins)).toEqual([server.origin, `${server.origin} -> ${other.origin}`])
		expect(other.requests.length).toBe(1)
	})

	it('a redirect to another origin that responds with Retry-After pauses that origin, if the client has called it before', async () => {
		const busy = answer({ status: 429, headers: { 'retry-after': '7' } })
		const { client, server, other } = await between({ '/': FINE, '/there': busy }, EAGER)
		await textOf(client.get(other.url('/')))
		await failure(client.get(server.url('/go')))
		expect(client.stats.origins[other.origin]?.pausedForMs).toBe(7_000)
		expect(client.stats.origins[server.origin]?.pausedForMs).toBe(0)
	})

	it('a redirect to another origin that responds with a 503 and Retry-After pauses its own path there', async () => {
		const busy = answer({ status: 503, headers: { 'retry-after': '7' } })
		const { client, server, other } = await between({ '/': FINE, '/there': busy }, EAGER)
		await textOf(client.get(other.url('/')))
		await failure(client.get(server.url('/go')))
		const yaoki = { totalTimeoutMs: 1_000 }
		expect(await failure(client.get(other.url('/there'), { yaoki }))).toMatchObject({
			name: 'RateLimitedError',
		})
		expect(await textOf(client.get(other.url('/')))).toBeDefined()
	})

	it('a redirect to another origin whose quota is exhausted does not delay requests to the first origin', async () => {
		const last = answer({ headers: { ratelimit: '"day";r=0;t=3000' }, body: 'last' })
		const { client, server, other } = await between({ '/': FINE, '/there': last }, EAGER)
		await textOf(client.get(other.url('/')))
		expect(await textOf(client.get(server.url('/go')))).toBe('last')
		expect(client.stats.origins[server.origin]?.pausedForMs).toBe(0)
		expect(client.stats.origins[other.origin]?.pausedForMs).toBe(3_000_000)
	})

	it('a redirect to another origin that fails opens the circuit of the pair, and no other', async () => {
		const { client, server, other, clock, events } = await between(
			{ '/': FINE, '/there': answer({ status: 500 }) },
			EAGER,
		)
		const pair = `${server.origin} -> ${other.origin}`
		await textOf(client.get(other.url('/')))
		for (let n = 0; n < 2; n++)
			expect(await failure(client.get(server.url('/go')))).toMatchObject({ statusCode: 500 })
		for (let n = 0; n < 38; n++)
			expect(await failure(client.get(server.url('/go')))).toMatchObject({
				code: 'YAOKI_CIRCUIT_OPEN',
				policy: pair,
				cause: { statusCode: 500 },
			})
		expect(other.requests.length).toBe(3)
		const { origins } = client.stats
		expect(origins[pair]?.circuit).toMatchObject({ state: 'open', rejectedCount: 38 })
		expect(origins[server.origin]?.circuit).toMatchObject({ state: 'closed', failureCount: 0 })
		expect(origins[other.origin]?.circuit).toMatchObject({ state: 'closed', failureCount: 0 })
		expect(events.filter(({ type }) => type === 'state_change')).toMatchObject([{ key: pair, to: 'open' }])
		expect(events.filter(({ type }) => type === 'rejected')).toHaveLength(38)
		expect(await textOf(client.get(server.url('/')))).toBe('fine')
		expect(await textOf(client.get(other.url('/')))).toBe('fine')

		other.play(FINE)
		await clock.advance(30_000)
		for (let n = 0; n < 2; n++) expect(await textOf(client.get(server.url('/go')))).toBe('fine')
		expect(client.circuitBreaker(server.origin, `-> ${other.origin}`)?.currentState).toBe('closed')
	})

	it('counts once in the circuit of the pair, however many attempts its call makes', async () => {
		const { client, server, other } = await between(answer({ status: 500 }), { ...EAGER, maxRetries: 3 })
		for (let n = 0; n < 2; n++)
			expect(await failure(client.get(server.url('/go')))).toMatchObject({ statusCode: 500 })
		expect(await failure(client.get(server.url('/go')))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(other.requests.length).toBe(8)
	})

	it('does not count in the circuit of the pair if the failure is permanent, or isFailure says no', async () => {
		const { client, server, other } = await between(answer({ status: 404 }), EAGER)
		for (let n = 0; n < 3; n++)
			expect(await failure(client.get(server.url('/go')))).toMatchObject({ statusCode: 404 })
		other.play(answer({ status: 500 }))
		const tolerant = client.extend({ circuitBreaker: { failureThreshold: 2, isFailure: () => false } })
		for (let n = 0; n < 3; n++)
			expect(await failure(tolerant.get(server.url('/go')))).toMatchObject({ statusCode: 500 })
	})

	// The promise was taken for true, and its rejection ended the process.
	it('rejects the call if isFailure is asynchronous', async () => {
		const { client, server } = await between(answer({ status: 500 }), EAGER)
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const isFailure = (): never => Promise.reject(new Error('asynchronous')) as never
		const wrong = client.extend({ circuitBreaker: { isFailure } })
		expect(await failure(wrong.get(server.url('/go')))).toMatchObject({ code: 'YAOKI_ASYNC_HOOK' })
		expect(warn).toHaveBeenCalledWith('yaoki: isFailure failed:', expect.any(Error))
	})

	it('is not followed while that origin is isolated or its circuit is open, except in shadow mode', async () => {
		const { client, server, other } = await between({ '/there': FINE, '/': answer({ status: 500 }) }, EAGER)
		const release = client.circuitBreaker(other.origin)?.isolate()
		expect(await failure(client.get(server.url('/go')))).toMatchObject({
			code: 'YAOKI_CIRCUIT_OPEN',
			policy: other.origin,
			retryAfterMs: Number.POSITIVE_INFINITY,
		})
		expect(other.requests.length).toBe(0)
		release?.()
		expect(await textOf(client.get(server.url('/go')))).toBe('fine')
		for (let n = 0; n < 2; n++) await failure(client.get(other.url('/')))
		expect(await failure(client.get(server.url('/go')))).toMatchObject({ policy: other.origin })
		expect(other.requests.length).toBe(3)
		client.circuitBreaker(other.origin)?.update({ shadow: true })
		expect(await textOf(client.get(server.url('/go')))).toBe('fine')
	})

	it('asks the circuit of the route of the target if circuitBreakerKey is set', async () => {
		const circuitBreakerKey = ({ url }: { readonly url: string }) => new URL(url).pathname.slice(1)
		const { client, server, other } = await between(FINE, { ...EAGER, circuitBreakerKey })
		client.circuitBreaker(other.origin)?.isolate()
		expect(await textOf(client.get(server.url('/go')))).toBe('fine')
		client.circuitBreaker(other.origin, 'there')?.isolate()
		expect(await failure(client.get(server.url('/go')))).toMatchObject({ policy: `${other.origin} there` })
	})

	it('waits for the pause of that origin, and fails if the pause is longer than an attempt may take', async () => {
		const busy = answer({ status: 429, headers: { 'retry-after': '5' } })
		const script = { '/': FINE, '/there': FINE, '/busy': busy }
		const { client, server, other, clock, waiting } = await between(script, {
			maxRetries: 0,
			circuitBreaker: false,
			timeout: 10_000,
			areWaitsHeld: true,
		})
		await textOf(client.get(other.url('/')))
		await failure(client.get(other.url('/busy')))
		const asked = client.get(server.url('/go')).text()
		await waiting(1)
		expect(other.requests.length).toBe(2)
		await clock.advance(7_000)
		expect(await asked).toBe('fine')

		other.play({ '/there': FINE, '/busy': answer({ status: 429, headers: { 'retry-after': '20' } }) })
		await failure(client.get(other.url('/busy')))
		const sent = other.requests.length
		expect(await failure(client.get(server.url('/go')))).toMatchObject({
			code: 'YAOKI_RATE_LIMITED',
			policy: other.origin,
			retryAfterMs: 20_000,
		})
		expect(other.requests.length).toBe(sent)
	})

	it('is not followed after the caller has aborted during the pause of that origin', async () => {
		const busy = answer({ status: 429, headers: { 'retry-after': '5' } })
		const { client, server, other, waiting } = await between(
			{ '/': FINE, '/busy': busy },
			{ ...EAGER, areWaitsHeld: true },
		)
		await textOf(client.get(other.url('/')))
		await failure(client.get(other.url('/busy')))
		const controller = new AbortController()
		const asked = failure(client.get(server.url('/go'), { signal: controller.signal }))
		await waiting(1)
		controller.abort(new Error('changed my mind'))
		expect(await asked).toMatchObject({ message: 'changed my mind' })
		expect(other.requests.length).toBe(2)
		expect(client.stats.origins[`${server.origin} -> ${other.origin}`]?.circuit).toMatchObject({
			failureCount: 0,
			successCount: 0,
		})
	})

	it('a redirect to another origin through a third one counts for the origin that failed', async () => {
		const last = await serve(answer({ status: 500 }))
		const middle = await serve(redirectTo(last.url('/')))
		const { client, server } = await setup(fetch, redirectTo(middle.url('/')), EAGER)
		for (let n = 0; n < 3; n++) await failure(client.get(server.url()))
		const { origins } = client.stats
		expect(origins[`${server.origin} -> ${middle.origin}`]?.circuit).toMatchObject({
			state: 'closed',
			failureCount: 0,
		})
		expect(origins[`${server.origin} -> ${last.origin}`]?.circuit).toMatchObject({ state: 'open' })
		expect(last.requests.length).toBe(2)
	})

	it('a redirect to another origin that is down does not open the circuit of the first origin', async () => {
		const { client, server } = await setup(fetch, redirectTo(await refusedUrl()), EAGER)
		for (let n = 0; n < 3; n++) await failure(client.get(server.url()))
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('closed')
		expect(server.requests.length).toBe(3)
		expect(await failure(client.get(server.url()))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('a redirect to another origin that never responds does not open the circuit of the first origin', async () => {
		const { client, server, other, clock } = await between(hang(), { ...EAGER, timeout: 100 })
		for (let n = 1; n <= 2; n++) {
			const asked = failure(client.get(server.url('/go')))
			await other.requested(n)
			await clock.advance(100)
			expect(await asked).toMatchObject({ name: 'TimeoutError' })
		}
		expect(await failure(client.get(server.url('/go')))).toMatchObject({ name: 'CircuitOpenError' })
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('closed')
	})

	it('does not hide failures of the first origin after it', async () => {
		const { client, server } = await between(answer({ status: 500 }), EAGER)
		await failure(client.get(server.url('/go')))
		server.play(answer({ status: 500 }))
		for (let n = 0; n < 2; n++) await failure(client.get(server.url('/')))
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('open')
	})

	const seenBy = ({ requests }: FaultServer) => requests.at(-1)?.headers ?? {}

	it.each([...CREDENTIAL_HEADERS, 'idempotency-key'])('does not carry %s', async (name) => {
		const { client, server, other } = await between(FINE)
		const headers = { [name]: 'secret', 'x-trace': '7' }
		await textOf(client.post(server.url('/go'), { headers, body: '1 tea' }))
		expect(server.requests[0]?.headers).toMatchObject(headers)
		expect(seenBy(other)).not.toHaveProperty([name])
		expect(seenBy(other)['x-trace']).toBe('7')
	})

	it('does not carry a key in the header that idempotencyHeader names', async () => {
		const { client, server, other } = await between(FINE, { idempotencyHeader: 'X-Request-Key' }, 307)
		await textOf(client.post(server.url('/go'), { body: '1 tea', yaoki: { idempotencyKey: 'k' } }))
		expect(server.requests[0]?.headers['x-request-key']).toBe('k')
		expect(seenBy(other)).not.toHaveProperty('x-request-key')
	})

	it('does not carry a key that a second redirect leads back with', async () => {
		const other = await serve(({ path }) => redirectTo(`${path}`.slice(1), 307))
		const { client, server } = await setup(fetch, ({ path }) =>
			path === '/go' ? redirectTo(`${other.origin}/${server.url('/back')}`, 307) : FINE,
		)
		await textOf(client.get(server.url('/go'), { headers: { 'x-api-key': 'secret' } }))
		expect(server.requests.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([
			['/go', 'secret'],
			['/back', undefined],
		])
	})

	it('a redirect to another origin with 307 loses the idempotency key, so an order that fails there is not sent again', async () => {
		const { client, server, other } = await between(answer({ status: 503 }), {}, 307)
		const error = await failure(
			client.post(server.url('/go'), { body: '1 tea', yaoki: { idempotencyKey: 'k' } }),
		)
		expect(error).toMatchObject({ statusCode: 503, message: expect.stringContaining('not retried') })
		expect(other.requests.length).toBe(1)
	})

	it('a redirect to another origin with 303 keeps the key for the first origin, so the order is sent again', async () => {
		const { client, server, other } = await between([answer({ status: 503 }), FINE], {}, 303)
		const order = client.post(server.url('/go'), { body: '1 tea', yaoki: { idempotencyKey: 'k' } })
		expect(await textOf(order)).toBe('fine')
		expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k', 'k'])
		expect(other.requests.map(({ method }) => method)).toEqual(['GET', 'GET'])
	})
})

describe.each(FETCHES)('a redirect within an origin over %s', (_, fetch) => {
	it('keeps API keys, and a failure counts', async () => {
		const { client, server } = await setup(
			fetch,
			{ '/go': redirectTo('/there', 307), '/there': answer({ status: 500 }) },
			EAGER,
		)
		const headers = { 'x-api-key': 'secret', 'idempotency-key': 'k' }
		for (let n = 0; n < 2; n++) await failure(client.post(server.url('/go'), { headers, body: '1 tea' }))
		expect(server.requests.at(-1)).toMatchObject({ path: '/there', body: '1 tea', headers })
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('open')
	})
})
