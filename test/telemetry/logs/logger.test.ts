/** What a log line contains, and at which level. */
import { describe, expect, test, vi } from 'vitest'
import { logger } from 'yaoki/telemetry'
import { attached, sourceOf } from '../source.ts'
import { storingLogger } from './lines.ts'

function logged(type: string, facts: object = {}) {
	const { lines, target } = storingLogger()
	attached(logger(target)).emit(type, facts)
	return lines
}

describe('a line', () => {
	test('a line has the fields of the event, the service and an ISO time', () => {
		const facts = {
			callId: 'c-1',
			key: 'tenant-1',
			method: 'GET',
			attempt: 1,
			maxRetries: 3,
			delayMs: 200,
			delaySource: 'backoff',
			outcome: 'transient',
			errorType: 'HttpError',
			errorMessage: 'HTTP 503',
			statusCode: 503,
		}
		expect(logged('retry_attempt', facts)).toEqual([
			{
				level: 'debug',
				message: 'payments: attempt 1 failed, retry in 200 ms',
				fields: {
					event: 'retry_attempt',
					service: 'payments',
					emitter: 'retry',
					timestamp: '2026-01-01T00:00:00.000Z',
					...facts,
				},
			},
		])
	})

	test('rounds the numbers of the message, not those of the fields', () => {
		expect(logged('retry_attempt', { attempt: 1, delayMs: 172.967 })).toMatchObject([
			{ message: 'payments: attempt 1 failed, retry in 173 ms', fields: { delayMs: 172.967 } },
		])
		expect(logged('retry_attempt', { attempt: 1, delayMs: 0.03081 })).toMatchObject([
			{ message: 'payments: attempt 1 failed, retry in 0 ms' },
		])
	})

	test('a line of 10 kB is shortened, field by field', () => {
		const [line] = logged('retry_failure', {
			errorMessage: 'x'.repeat(10_000),
			key: 'y'.repeat(10_000),
			stop: 'budget',
		})
		expect(JSON.stringify(line).length).toBeLessThan(3_000)
		expect(line?.fields['errorMessage']).toBe(`${'x'.repeat(1_000)}...`)
	})

	test('a line has a message on one line, without control characters', () => {
		const { lines, target } = storingLogger()
		const source = sourceOf({ serviceOf: () => 'pay\nments\u001b[31m' })
		attached(logger(target), source).emit('state_change', { from: 'closed', to: 'open' })
		expect(lines[0]?.message).toBe('pay ments\uFFFD[31m: circuit open, was closed')
	})

	test('a line of an unknown event is written with level info', () => {
		expect(logged('from_a_newer_version')).toMatchObject([
			{ level: 'info', message: 'payments: from_a_newer_version' },
		])
	})

	test('a line is not written for an event of every successful call', () => {
		for (const type of ['call', 'success', 'failure', 'relay_sent', 'outbox_enqueued', 'idempotency_claimed'])
			expect(logged(type), type).toEqual([])
		expect(logged('retry_success', { attempts: 1 })).toEqual([])
		expect(logged('retry_success', { attempts: 2 })).toMatchObject([{ level: 'debug' }])
	})
})

describe('levels', () => {
	test.each([
		['retry_attempt', {}, 'debug'],
		['retry_failure', { stop: 'retries-exhausted' }, 'warn'],
		['retry_failure', { stop: 'budget' }, 'warn'],
		['retry_failure', { stop: 'deadline' }, 'warn'],
		['retry_failure', { stop: 'permanent' }, 'debug'],
		['retry_failure', { stop: 'toString' }, 'debug'],
		['state_change', { from: 'closed', to: 'open' }, 'warn'],
		['state_change', { from: 'half-open', to: 'open' }, 'warn'],
		['state_change', { from: 'half-open', to: 'closed' }, 'info'],
		['rejected', { reason: 'circuit-open' }, 'debug'],
		['rejected', { reason: 'bulkhead-full' }, 'warn'],
		['relay_store_error', {}, 'warn'],
		['relay_handlers_hung', {}, 'warn'],
		['relay_state_change', { from: 'closed', to: 'open' }, 'warn'],
		['relay_state_change', { from: 'half-open', to: 'closed' }, 'info'],
		['relay_lease_lost', {}, 'warn'],
		['relay_dead_letter', { cause: 'permanent' }, 'error'],
		['relay_store_recovered', {}, 'info'],
		['relay_started', {}, 'info'],
	])('%s %j is %s', (type, facts, level) => {
		expect(logged(type, facts)).toMatchObject([{ level }])
	})

	test('below `level` are not logged', () => {
		const { lines, target } = storingLogger()
		const { emit } = attached(logger(target, { level: 'warn' }))
		emit('retry_attempt')
		emit('relay_store_recovered')
		emit('relay_store_error')
		emit('relay_dead_letter')
		expect(lines.map(({ level }) => level)).toEqual(['warn', 'error'])
	})

	test('levels that the logger has switched off do not reach it', () => {
		const { lines, target } = storingLogger()
		const isLevelEnabled = vi.fn((level: string) => level === 'error')
		const { emit } = attached(logger({ ...target, isLevelEnabled } as typeof target))
		emit('relay_store_error')
		emit('relay_dead_letter')
		expect(lines.map(({ level }) => level)).toEqual(['error'])
		expect(isLevelEnabled).toHaveBeenCalledWith('warn')
	})

	test.each([
		[
			['info', 'error'],
			['info', 'info', 'error', 'error'],
		],
		[['debug'], ['debug', 'debug', 'debug', 'debug']],
		[
			['warning', 'error'],
			['warning', 'warning', 'warning', 'error'],
		],
		[['log'], ['log', 'log', 'log', 'log']],
	])('levels without a method use the next one: %j', (names, expected) => {
		const used: string[] = []
		const target = Object.fromEntries(names.map((name) => [name, () => used.push(name)]))
		const { emit } = attached(logger(target))
		for (const type of ['retry_attempt', 'relay_store_recovered', 'relay_store_error', 'relay_dead_letter'])
			emit(type)
		expect(used).toEqual(expected)
	})
})

describe('invalid arguments', () => {
	test.each([[undefined], [null], [7], [{}], [{ info: 'text' }]])('a target %j is rejected', (target) => {
		expect(() => logger(target as object)).toThrow('Invalid argument "target"')
	})

	test.each([
		[{ order: 'fields' }, 'order'],
		[{ level: 'fatal' }, 'level'],
		[{ intervalMs: -1 }, 'intervalMs'],
		[{ intervalMs: Number.NaN }, 'intervalMs'],
		[{ runtime: {} }, 'runtime'],
		[{ interval: 1 }, 'interval'],
	])('options %j are rejected', (options, optionPath) => {
		expect(() => logger(console, options as object)).toThrow(expect.objectContaining({ optionPath }))
	})
})
