import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import { CircuitOpenError } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { failure } from './setup.ts'

const originOf = (n: number | string) => `http://host-${n}.example.com`

let warn: MockInstance<typeof console.warn>
beforeEach(() => {
	warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => warn.mockRestore())

/** A client whose requests to hosts with these names fail as given, and all others succeed. */
function clientOf(failures: Readonly<Record<string, () => Response>> = {}, options: HttpClientOptions = {}) {
	const clock = virtualRuntime()
	const sent: string[] = []
	const fetch = async (url: unknown) => {
		sent.push(String(url))
		return failures[String(url)]?.() ?? new Response('fine')
	}
	const client = new ResilientHttpClient({ fetch, runtime: clock, maxRetries: 0, ...options })
	const useOthers = async (count: number) => {
		for (let n = 0; n < count; n++) await client.get(originOf(n))
	}
	return { client, clock, sent, useOthers }
}

const ISOLATED = originOf('isolated')

describe('an isolated origin', () => {
	test('stays isolated after requests to 2,000 other origins', async () => {
		const { client, sent, useOthers } = clientOf()
		const release = client.circuitBreaker(ISOLATED)?.isolate()
		await useOthers(2_000)
		expect(Object.keys(client.stats.origins)).toHaveLength(1_001)
		expect(await failure(client.get(ISOLATED))).toBeInstanceOf(CircuitOpenError)
		expect(sent).not.toContain(ISOLATED)
		expect(warn).not.toHaveBeenCalled()
		release?.()
		expect((await client.get(ISOLATED)).status).toBe(200)
	})

	test('stays isolated after an idle hour', async () => {
		const { client, clock } = clientOf()
		client.circuitBreaker(ISOLATED)?.isolate()
		await clock.advance(3_600_000)
		await client.get(originOf(1))
		expect(await failure(client.get(ISOLATED))).toBeInstanceOf(CircuitOpenError)
	})

	test('is evicted like any other after its release', async () => {
		const { client, useOthers } = clientOf({}, { maxOrigins: 10 })
		const release = client.circuitBreaker(ISOLATED)?.isolate()
		await useOthers(20)
		release?.()
		await client.get(originOf('next'))
		expect(Object.keys(client.stats.origins)).not.toContain(ISOLATED)
		expect(Object.keys(client.stats.origins)).toHaveLength(10)
	})

	test('is evicted with a warning if more than maxOrigins are isolated', async () => {
		const { client, useOthers } = clientOf({}, { maxOrigins: 3 })
		for (const name of ['a', 'b', 'c', 'd']) client.circuitBreaker(originOf(name))?.isolate()
		await useOthers(4)
		expect(warn.mock.calls).toEqual([
			[`yaoki: evicted '${originOf('a')}', which was isolated. Increase maxOrigins (3)`],
		])
		expect(await failure(client.get(originOf('b')))).toBeInstanceOf(CircuitOpenError)
		expect((await client.get(originOf('a'))).status).toBe(200)
	})

	test('is not evicted by any number of origins with open circuits', async () => {
		const failing = Object.fromEntries(
			Array.from({ length: 50 }, (_, n) => [originOf(`down-${n}`), () => new Response('', { status: 500 })]),
		)
		const { client } = clientOf(failing, { maxOrigins: 5, circuitBreaker: { failureThreshold: 1 } })
		client.circuitBreaker(ISOLATED)?.isolate()
		for (const url of Object.keys(failing)) await failure(client.get(url))
		expect(await failure(client.get(ISOLATED))).toBeInstanceOf(CircuitOpenError)
		expect(Object.keys(client.stats.origins).length).toBeLessThanOrEqual(11)
		// One warning, not one per origin.
		expect(warn).toHaveBeenCalledTimes(1)
	})
})

describe('an origin', () => {
	const DOWN = originOf('down')
	const down = { [DOWN]: () => new Response('', { status: 500 }) }

	test('an origin whose circuit is open is evicted only after its reset time', async () => {
		const { client, clock, sent, useOthers } = clientOf(down, {
			maxOrigins: 5,
			circuitBreaker: { failureThreshold: 1 },
		})
		await failure(client.get(DOWN))
		await useOthers(20)
		expect(await failure(client.get(DOWN))).toBeInstanceOf(CircuitOpenError)
		expect(sent.filter((url) => url === DOWN)).toHaveLength(1)
		await useOthers(20)
		await clock.advance(30_000)
		await useOthers(20)
		expect(Object.keys(client.stats.origins)).not.toContain(DOWN)
	})

	test('an origin that is paused is evicted only after its pause', async () => {
		const paused = { [DOWN]: () => new Response('', { status: 429, headers: { 'retry-after': '50' } }) }
		const { client, clock, useOthers } = clientOf(paused, { maxOrigins: 5, totalTimeoutMs: 1_000 })
		await failure(client.get(DOWN))
		await useOthers(20)
		expect(await failure(client.get(DOWN))).toMatchObject({ name: 'RateLimitedError' })
		await clock.advance(50_000)
		await useOthers(20)
		expect(Object.keys(client.stats.origins)).not.toContain(DOWN)
	})
})
