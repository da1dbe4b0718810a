import { afterEach, describe, expect, it, vi } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/'
const ORIGIN = 'http://a.example.com'

afterEach(() => vi.unstubAllGlobals())

/** The globals of a browser, and a client whose requests fail while the device is offline. */
function offline(onLine: boolean | null = false) {
	const events = new EventTarget()
	const listeners = vi.fn((...given: Parameters<EventTarget['addEventListener']>) =>
		events.addEventListener(...given),
	)
	const navigator = { onLine }
	vi.stubGlobal('navigator', navigator)
	vi.stubGlobal('addEventListener', listeners)
	const { clock, runtime } = virtualTime({ areWaitsHeld: true })
	const server = { isUp: false, requests: 0 }
	const fetch = async () => {
		server.requests++
		if (!server.isUp) throw new TypeError('Failed to fetch')
		return new Response('fine')
	}
	const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0 })
	const fail = async (times: number) => {
		for (let n = 0; n < times; n++) await failure(client.get(URL))
	}
	const goOnline = () => {
		navigator.onLine = true
		events.dispatchEvent(new Event('online'))
	}
	const circuit = () => client.stats.origins[ORIGIN]?.circuit
	return { client, clock, server, navigator, listeners, fail, goOnline, circuit }
}

describe('in a browser that is offline', () => {
	it('failures do not count for the circuit (regression: it opened, and stayed open when the device was online)', async () => {
		const { client, server, fail, circuit, goOnline } = offline()
		await fail(20)
		expect(circuit()).toMatchObject({ state: 'closed', failureCount: 0, consecutiveFailures: 0 })
		goOnline()
		server.isUp = true
		expect((await client.get(URL)).status).toBe(200)
	})

	it('probes of an open circuit change nothing', async () => {
		const { clock, navigator, fail, circuit } = offline(true)
		await fail(5)
		expect(circuit()?.state).toBe('open')
		navigator.onLine = false
		await clock.advance(60_000)
		await fail(3)
		expect(circuit()?.state).toBe('half-open')
	})
})

it('the online event makes an open circuit due for a probe', async () => {
	const { client, server, fail, goOnline, circuit } = offline(true)
	// The browser notices late that it is offline.
	await fail(6)
	expect(circuit()?.state).toBe('open')
	expect(server.requests).toBe(5)
	server.isUp = true
	expect(await failure(client.get(URL))).toMatchObject({ name: 'CircuitOpenError' })
	goOnline()
	expect((await client.get(URL)).status).toBe(200)
})

it('a client adds one listener, for one event, and only after a failure without a response', async () => {
	const { client, server, fail, goOnline, listeners } = offline()
	server.isUp = true
	await client.get(URL)
	expect(listeners).not.toHaveBeenCalled()
	server.isUp = false
	await fail(20)
	expect(listeners.mock.calls.map(([type, , options]) => [type, options])).toEqual([
		['online', { once: true }],
	])
	goOnline()
	await fail(2)
	expect(listeners).toHaveBeenCalledTimes(2)
})

it('without navigator.onLine, as in Node, failures count and nothing is listened to', async () => {
	const { fail, circuit, listeners } = offline(null)
	await fail(5)
	expect(circuit()?.state).toBe('open')
	expect(listeners).not.toHaveBeenCalled()
})

it('in a worker without events, failures do not count while it is offline', async () => {
	const { fail, circuit } = offline()
	vi.stubGlobal('addEventListener', undefined)
	await fail(5)
	expect(circuit()?.state).toBe('closed')
})
