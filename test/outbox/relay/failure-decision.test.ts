import fc from 'fast-check'
import { expect, test } from 'vitest'
import { classify, HttpError, permanent } from 'yaoki'
import type { RelayRetryOptions } from '../../../src/outbox/destinations/destination.ts'
import { decideFailure } from '../../../src/outbox/relay/failure-decision.ts'
import { readDestination, readRelayOptions } from '../../../src/outbox/relay/options.ts'
import type { ClaimedRow } from '../../../src/outbox/store/rows.ts'

const ROW: ClaimedRow = {
	id: 'a',
	destination: 'd',
	topic: 't',
	key: null,
	sequence: 1,
	payload: '1',
	headers: null,
	attempt: 1,
	maxRetries: null,
	delayMs: null,
	crashes: 0,
	claimedAt: 0,
	createdAt: 0,
	dueAt: 0,
	expiresAt: null,
}

function verdict(
	row: Partial<ClaimedRow>,
	error: unknown,
	retry: RelayRetryOptions = {},
	now = 0,
	random = 0.5,
) {
	const relay = readRelayOptions({ retry })
	const settings = readDestination('d', () => {}, relay)
	const circumstances = { now, maxRetryAfterMs: relay.maxRetryAfterMs, random: { random: () => random } }
	return decideFailure({ ...ROW, ...row }, error, classify(error), settings, circumstances)
}

test('retries a cancelled delivery, because a message has no caller', () => {
	const error = Object.assign(new Error('stop'), { name: 'AbortError' })
	expect(verdict({}, error)).toMatchObject({ type: 'retry' })
})

test('decorrelated jitter continues from the stored delay', () => {
	const retry = { baseDelayMs: 1_000, maxDelayMs: 60_000, jitterStrategy: 'decorrelated' } as const
	expect(verdict({}, 'x', retry, 0, 1)).toMatchObject({ inMs: 3_000, delayMs: 3_000 })
	expect(verdict({ attempt: 2, delayMs: 3_000 }, 'x', retry, 0, 1)).toMatchObject({ inMs: 9_000 })
	expect(verdict({ attempt: 9, delayMs: 50_000 }, 'x', retry, 0, 1)).toMatchObject({ inMs: 60_000 })
	expect(verdict({ attempt: 9, delayMs: 50_000 }, 'x', retry, 0, 0)).toMatchObject({ inMs: 1_000 })
})

test('a Retry-After does not change the stored delay', () => {
	const error = Object.assign(new HttpError(429), { retryAfterMs: 5_000 })
	expect(verdict({ attempt: 2, delayMs: 1_234 }, error, {}, 0, 0)).toMatchObject({
		inMs: 5_000,
		delayMs: 1_234,
	})
})

test('jitter comes on top of a Retry-After, capped before it', () => {
	const asked = (retryAfterMs: number) => Object.assign(new HttpError(429), { retryAfterMs })
	expect(verdict({}, asked(5_000), {}, 0, 1)).toMatchObject({ inMs: 6_250 })
	expect(verdict({}, asked(10), {}, 0, 1)).toMatchObject({ inMs: 110 })
	expect(verdict({}, asked(86_400_000), {}, 0, 0)).toMatchObject({ inMs: 3_600_000 })
	expect(verdict({}, asked(86_400_000), {}, 0, 1)).toMatchObject({ inMs: 4_500_000 })
})

test('a permanent error overrides remaining retries, and maxRetries of the message those of the destination', () => {
	expect(verdict({}, permanent(new Error('x')))).toMatchObject({ type: 'dead', cause: 'permanent' })
	expect(verdict({ maxRetries: 0 }, 'x')).toMatchObject({ type: 'dead', cause: 'retries-exhausted' })
	expect(verdict({ maxRetries: 99, attempt: 50 }, 'x')).toMatchObject({ type: 'retry' })
})

test('every failure leads to a retry within its limits or a dead letter', () => {
	const row = fc.record({
		attempt: fc.integer({ min: 1, max: 40 }),
		maxRetries: fc.option(fc.nat(40)),
		delayMs: fc.option(fc.double({ min: 0, max: 60_000, noNaN: true })),
		expiresAt: fc.option(fc.nat(100_000)),
	})
	const errors = fc.constantFrom(
		new Error('x'),
		'x',
		undefined,
		new HttpError(503),
		permanent(new Error('x')),
	)
	fc.assert(
		fc.property(
			row,
			errors,
			fc.nat(100_000),
			fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
			(given, error, now, random) => {
				const outcome = verdict(given, error, {}, now, random)
				if (outcome.type === 'dead') return
				expect(outcome.type).toBe('retry')
				if (outcome.type !== 'retry') return
				expect(Number.isInteger(outcome.inMs)).toBe(true)
				expect(outcome.inMs).toBeGreaterThanOrEqual(1_000)
				expect(outcome.inMs).toBeLessThanOrEqual(60_000)
				expect(given.attempt - 1).toBeLessThan(given.maxRetries ?? 10)
				if (given.expiresAt !== null) expect(now + outcome.inMs).toBeLessThan(given.expiresAt)
			},
		),
	)
})
