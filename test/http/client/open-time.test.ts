/** How long the circuit of an origin stays open. */
import { describe, expect, it } from 'vitest'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/'
const ORIGIN = 'http://a.example.com'

/** A client of a server that fails with this response; every call waits for nothing and opens the circuit. */
function clientOf(response: () => Response, options: HttpClientOptions = {}) {
	const { clock, runtime } = virtualTime({ areWaitsHeld: true })
	const fetch = async () => response()
	const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0, pauseScope: 'call', ...options })
	const circuit = () => client.stats.origins[ORIGIN]?.circuit
	/** Sends requests until the circuit is open again, and returns for how long it is. */
	const open = async () => {
		while (!circuit()?.retryAfterMs) await failure(client.get(URL))
		return circuit()?.retryAfterMs ?? 0
	}
	return { client, clock, circuit, open }
}

const down = (headers = {}) => new Response('', { status: 503, headers })

describe('the circuit of an origin', () => {
	it('is open for about 1 s at first, and longer after each failed probe, up to 2 s', async () => {
		const { clock, open } = clientOf(() => down())
		const times: number[] = []
		for (let n = 0; n < 20; n++) {
			times.push(await open())
			await clock.advance(times.at(-1) ?? 0)
		}
		expect(times[0]).toBeGreaterThanOrEqual(500)
		expect(times[0]).toBeLessThanOrEqual(1_000)
		expect(Math.max(...times.slice(-5))).toBeGreaterThan(1_000)
		expect(Math.max(...times)).toBeLessThanOrEqual(2_000)
	})

	it('is open for exactly resetTimeoutMs with resetBackoff: false, by default 30 s', async () => {
		expect(await clientOf(() => down(), { circuitBreaker: { resetBackoff: false } }).open()).toBe(30_000)
		const circuitBreaker = { resetBackoff: false, resetTimeoutMs: 7_000 } as const
		expect(await clientOf(() => down(), { circuitBreaker }).open()).toBe(7_000)
	})

	it('keeps the growth with other options, and resetTimeoutMs is the longest time', async () => {
		const { open, clock } = clientOf(() => down(), { circuitBreaker: { resetTimeoutMs: 1_200 } })
		for (let n = 0; n < 9; n++) {
			const openMs = await open()
			expect(openMs).toBeLessThanOrEqual(1_200)
			await clock.advance(openMs)
		}
	})

	it.each([500, 503])(
		'is not open for longer because of the Retry-After of a %i (regression: it was open for a minute)',
		async (status) => {
			const response = () => new Response('', { status, headers: { 'retry-after': '60' } })
			expect(await clientOf(response).open()).toBeLessThanOrEqual(1_000)
		},
	)

	it('is open as long as the Retry-After of a 429 says', async () => {
		const response = () => new Response('', { status: 429, headers: { 'retry-after': '20' } })
		expect(await clientOf(response).open()).toBeGreaterThanOrEqual(20_000)
	})

	it.each([
		[2_000, 10_000],
		[60_000, 60_000],
		[Infinity, 300_000],
	])('waits for a probe as long as an attempt may take, with timeout: %d', async (timeout, probeMs) => {
		let isHanging = false
		const { runtime, clock } = virtualTime({ areWaitsHeld: true })
		const fetch = () => (isHanging ? new Promise<Response>(() => {}) : Promise.resolve(down()))
		const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0, timeout })
		const circuit = () => client.stats.origins[ORIGIN]?.circuit
		while (circuit()?.state !== 'open') await failure(client.get(URL))
		isHanging = true
		await clock.advance(1_000)
		const probe = client.get(URL, { yaoki: { timeout: Infinity } }).catch(() => {})
		await clock.advance(probeMs - 1)
		expect(circuit()?.state).toBe('half-open')
		await clock.advance(1)
		expect(circuit()?.state).toBe('open')
		void probe
	})
})
