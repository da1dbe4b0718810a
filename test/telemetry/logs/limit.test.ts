/** Repeated lines are limited, and their number is exact. */
import { describe, expect, test } from 'vitest'
import { logger } from 'yaoki/telemetry'
import { virtualRuntime } from 'yaoki/testing'
import { MAX_CAUSES } from '../../../src/telemetry/logs/limit.ts'
import { attached, sourceOf } from '../source.ts'
import { storingLogger } from './lines.ts'

function limited({ intervalMs = 10_000, kind = 'policy' as 'policy' | 'relay' } = {}) {
	const runtime = virtualRuntime()
	const { lines, target } = storingLogger()
	const exporter = logger(target, { runtime, intervalMs })
	return { runtime, lines, ...attached(exporter, sourceOf({ kind })) }
}

const suppressedOf = (lines: ReturnType<typeof limited>['lines']) =>
	lines.map(({ fields }) => fields['suppressed'])

describe('repeated lines', () => {
	test('repeated lines are one line, and at the end of the interval one with their number and the fields of the latest', async () => {
		const { emit, lines, runtime } = limited()
		for (let attempt = 1; attempt <= 100; attempt++) emit('retry_attempt', { attempt })
		expect(lines).toHaveLength(1)
		await runtime.advance(9_999)
		expect(lines).toHaveLength(1)
		await runtime.advance(1)
		expect(lines).toHaveLength(2)
		expect(lines[1]?.fields).toMatchObject({ attempt: 100, suppressed: 99 })
		expect(lines[0]?.fields).not.toHaveProperty('suppressed')
	})

	test('repeated lines of an outage of an hour are one line per interval', async () => {
		const { emit, lines, runtime } = limited()
		for (let second = 0; second < 3_600; second++) {
			for (let call = 0; call < 10; call++) emit('retry_failure', { stop: 'budget', statusCode: 503 })
			await runtime.advance(1_000)
		}
		await runtime.advance(10_000)
		expect(lines.length).toBeGreaterThanOrEqual(360)
		expect(lines.length).toBeLessThanOrEqual(362)
		const total = lines.reduce((sum, { fields }) => sum + Number(fields['suppressed'] ?? 1), 0)
		expect(total).toBe(36_000)
	})

	test('lines after a quiet interval are logged immediately again, and no timer is left', async () => {
		const { emit, lines, runtime } = limited()
		emit('retry_attempt')
		emit('retry_attempt')
		await runtime.advance(10_000)
		expect(suppressedOf(lines)).toEqual([undefined, 1])
		await runtime.advance(10_000)
		expect(runtime.pendingTimers).toBe(0)
		emit('retry_attempt')
		expect(suppressedOf(lines)).toEqual([undefined, 1, undefined])
	})

	test('set no timer while none was left out', () => {
		const { emit, runtime } = limited()
		emit('retry_attempt')
		expect(runtime.pendingTimers).toBe(0)
	})

	test('set a timer that does not keep the process alive', () => {
		const runtime = virtualRuntime()
		const kinds: (string | undefined)[] = []
		runtime.setTimer = (_ms, _fn, kind) => {
			kinds.push(kind)
			return () => {}
		}
		const { emit } = attached(logger({ info: () => {} }, { runtime }))
		for (let count = 0; count < 5; count++) emit('retry_attempt')
		expect(kinds).toEqual(['housekeeping'])
	})

	test('repeated lines are reported with the next line if the timer did not fire', () => {
		const { lines, target } = storingLogger()
		let now = 0
		const runtime = {
			...virtualRuntime(),
			now: () => now,
			wallNow: () => 0,
			setTimer: () => () => {},
			random: () => 0,
		}
		const { emit } = attached(logger(target, { runtime }))
		emit('retry_attempt', { attempt: 1 })
		emit('retry_attempt', { attempt: 2 })
		now = 60_000
		emit('retry_attempt', { attempt: 3 })
		expect(suppressedOf(lines)).toEqual([undefined, 1])
	})

	test('repeated lines are written when the observation ends', () => {
		const { emit, lines, detach, runtime } = limited()
		for (let count = 0; count < 3; count++) emit('relay_store_error', { operation: 'claim' })
		detach()
		expect(suppressedOf(lines)).toEqual([undefined, 2])
		expect(lines[1]?.level).toBe('warn')
		expect(runtime.pendingTimers).toBe(0)
	})

	test('repeated lines are all logged with intervalMs 0', () => {
		const { emit, lines } = limited({ intervalMs: 0 })
		for (let count = 0; count < 50; count++) emit('retry_attempt')
		expect(lines).toHaveLength(50)
	})
})

describe('causes', () => {
	test('causes are distinguished by event, policy, error, status and reason', () => {
		const { emit, lines } = limited()
		const different = [
			{ errorType: 'A' },
			{ errorType: 'B' },
			{ errorType: 'B', statusCode: 503 },
			{ errorType: 'B', emitter: 'other' },
			{ stop: 'budget' },
		]
		for (const facts of different) for (let count = 0; count < 2; count++) emit('retry_failure', facts)
		emit('retry_attempt', { errorType: 'A' })
		expect(lines).toHaveLength(different.length + 1)
	})

	test('causes are not distinguished by key or message, so that an outage for 10,000 tenants is one line', () => {
		const { emit, lines } = limited()
		for (let tenant = 0; tenant < 10_000; tenant++)
			emit('retry_failure', { key: `tenant-${tenant}`, errorMessage: `message ${tenant}` })
		expect(lines).toHaveLength(1)
	})

	test('causes of a relay are distinguished by destination', () => {
		const { emit, lines } = limited({ kind: 'relay' })
		for (const destination of ['mail', 'billing', 'mail'])
			emit('relay_dead_letter', { destination, cause: 'permanent' })
		expect(lines.map(({ fields }) => fields['destination'])).toEqual(['mail', 'billing'])
	})

	test('causes beyond the maximum share a line, and every event is counted', () => {
		const { emit, lines, detach } = limited()
		for (let index = 0; index < 10_000; index++) emit('retry_failure', { errorType: `Error${index}` })
		expect(lines).toHaveLength(MAX_CAUSES + 1)
		detach()
		expect(lines).toHaveLength(MAX_CAUSES + 2)
		const total = lines.reduce((sum, { fields }) => sum + Number(fields['suppressed'] ?? 1), 0)
		expect(total).toBe(10_000)
	})
})
