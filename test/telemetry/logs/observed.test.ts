/** Logs of real policies and clients: what a reader of the log sees of an outage, and that a faulty logger changes no result. */
import { describe, expect, test, vi } from 'vitest'
import { circuitBreaker, HttpError, pipeline, retry } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { logger, observe } from 'yaoki/telemetry'
import { virtualRuntime } from 'yaoki/testing'
import { temporaryFile } from '../../support/temporary-file.ts'
import { storingLogger } from './lines.ts'

function outage() {
	const runtime = virtualRuntime()
	const state = { isDown: false }
	const payments = pipeline(
		{ name: 'shop', runtime },
		circuitBreaker({ failureThreshold: 3, resetTimeoutMs: 5_000 }),
		retry({ maxRetries: 1, jitterStrategy: 'none' }),
	)
	const call = () =>
		payments.settle(() => {
			if (state.isDown) throw new HttpError(503)
			return 'paid'
		})
	/** Calls once in a tenth of a second. */
	const callFor = async (ms: number) => {
		const calls: unknown[] = []
		for (let at = 0; at < ms; at += 100) {
			calls.push(call())
			await runtime.advance(100)
		}
		return calls
	}
	return { runtime, state, payments, call, callFor }
}

describe('an outage of a minute with ten calls per second', () => {
	test('an outage of a minute with ten calls per second is a few lines: the failures, the circuit and its recovery', async () => {
		const { state, payments, callFor, runtime } = outage()
		const { lines, target } = storingLogger()
		const stop = observe({ payments }, [logger(target, { runtime })])
		await callFor(1_000)
		expect(lines).toEqual([])
		state.isDown = true
		await callFor(60_000)
		state.isDown = false
		await callFor(20_000)
		stop()

		expect(lines.length).toBeLessThan(60)
		const seen = (level: string, part: string) =>
			lines.filter((line) => line.level === level && line.message.includes(part)).length
		expect(seen('debug', 'attempt 1 failed, retry in 1000 ms')).toBeGreaterThan(0)
		expect(seen('warn', 'stopped: retries-exhausted')).toBeGreaterThan(0)
		expect(seen('warn', 'circuit open, was closed')).toBe(1)
		expect(seen('warn', 'circuit open, was half-open')).toBeGreaterThan(0)
		expect(seen('info', 'circuit closed, was half-open')).toBe(1)
		expect(seen('debug', 'call rejected: circuit-open')).toBeGreaterThan(0)
		for (const { fields } of lines) expect(fields).toMatchObject({ service: 'payments', pipeline: 'shop' })
	})

	test('an outage of a minute with ten calls per second has the number of all rejected calls', async () => {
		const { state, payments, callFor, runtime } = outage()
		const { lines, target } = storingLogger()
		const rejected = vi.fn()
		payments.subscribe(({ type }) => type === 'rejected' && rejected())
		const stop = observe({ payments }, [logger(target, { runtime })])
		state.isDown = true
		await callFor(30_000)
		stop()
		const counted = lines
			.filter(({ fields }) => fields['event'] === 'rejected')
			.reduce((sum, { fields }) => sum + Number(fields['suppressed'] ?? 1), 0)
		expect(rejected.mock.calls.length).toBeGreaterThan(100)
		expect(counted).toBe(rejected.mock.calls.length)
	})
})

test('a logger that throws changes no result', async () => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	const fail = () => {
		throw new Error('EPIPE')
	}
	const results = async (isLogged: boolean) => {
		const { state, payments, callFor, runtime } = outage()
		if (isLogged) observe({ payments }, [logger({ debug: fail, warn: fail })])
		state.isDown = true
		const calls = await callFor(2_000)
		await runtime.runUntilIdle()
		return await Promise.all(calls)
	}
	expect(await results(true)).toEqual(await results(false))
	expect(warn).toHaveBeenCalledTimes(1)
})

test('lines of an HTTP client have the host, the method and the status, and no secret of the URL', async () => {
	const runtime = virtualRuntime()
	const { lines, target } = storingLogger()
	const client = new ResilientHttpClient({
		runtime,
		maxRetries: 1,
		fetch: async () => new Response('busy', { status: 503 }),
	})
	observe({ client }, [logger(target, { runtime })])
	const result = client.get('http://api.example.com/users?token=secret').catch(() => 'failed')
	await runtime.runUntilIdle()
	expect(await result).toBe('failed')
	expect(lines.map(({ fields }) => fields['event'])).toEqual(['retry_attempt', 'retry_failure'])
	for (const { fields } of lines)
		expect(fields).toMatchObject({ service: 'api.example.com', method: 'GET', statusCode: 503 })
	expect(JSON.stringify(lines)).not.toContain('secret')
})

test('a dead letter is an error, with its destination, message and cause, and relays that start and stop are info', async () => {
	const { lines, target } = storingLogger()
	const outbox = new Outbox({ store: sqliteOutboxStore(temporaryFile()) })
	await outbox.migrate()
	const { promise: dead, resolve } = Promise.withResolvers<void>()
	const relay = new Relay(outbox, {
		destinations: {
			mail: () => {
				throw new HttpError(422)
			},
		},
	})
	relay.subscribe(({ type }) => type === 'relay_dead_letter' && resolve())
	const stop = observe({ relay, outbox }, [logger(target)])
	await relay.start()
	const { id } = await outbox.enqueue({ topic: 'mail', payload: { to: 'ada' } }, { withoutTransaction: true })
	await dead
	await relay.stop()
	stop()
	await outbox.close()

	const shown = lines.map(({ level, message }) => [level, message])
	expect(shown).toEqual([
		['info', 'relay: relay started'],
		['error', 'relay: message is a dead letter: permanent'],
		['info', 'relay: relay is stopping'],
		['info', 'relay: relay stopped'],
	])
	expect(lines[1]?.fields).toMatchObject({
		event: 'relay_dead_letter',
		service: 'relay',
		destination: 'mail',
		topic: 'mail',
		cause: 'permanent',
		messageId: id,
		statusCode: 422,
	})
})
