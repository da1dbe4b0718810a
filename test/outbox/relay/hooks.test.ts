import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { setup } from './setup.ts'

const fail = (error: unknown) => () => {
	throw error
}
/** A computed name, because the linter rejects objects with `then`. */
const THEN = 'then'
const PLAIN = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 2 } as const

test('shouldRetry decides, with attempts from 0; false makes a dead letter', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const asked: number[] = []
	const shouldRetry = (_: unknown, attempt: number) => asked.push(attempt) < 2
	await system.relay(
		{ jobs: system.sends(fail(new Error('no'))) },
		{ retry: { ...PLAIN, maxRetries: 9, shouldRetry }, circuitBreaker: false },
	)
	await system.clock.advance(60_000)
	expect(asked).toEqual([0, 1])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'permanent', attempts: 2 })
})

test('shouldRetry may retry a permanent error', async () => {
	await using system = await setup()
	await system.enqueue(1)
	await system.relay(
		{ jobs: system.sends(fail(permanent(new Error('no')))) },
		{ retry: { ...PLAIN, shouldRetry: () => true }, circuitBreaker: false },
	)
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(3)
})

test('delayFor replaces the backoff; undefined keeps it', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const delayFor = (_: unknown, attempt: number) => (attempt === 0 ? 10_000 : undefined)
	const retry = { ...PLAIN, delayFor }
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry, circuitBreaker: false })
	await system.clock.advance(60_000)
	expect(system.sendings.map(({ at }) => Math.round(at / 1_000))).toEqual([0, 10, 12])
})

test('classify handles custom errors', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	await system.relay(
		{ jobs: system.sends(fail(new Error('E-17'))) },
		{
			retry: {
				classify: (error, next) =>
					`${error}`.includes('E-17') ? { kind: 'permanent', isKnown: true } : next(error),
			},
		},
	)
	await system.clock.advance(1_000)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'permanent' })
})

const broken = fail(new Error('a bug in a rule'))

test.each([
	['shouldRetry', { shouldRetry: broken }],
	['delayFor', { delayFor: broken }],
	['delayFor with what is no delay', { delayFor: () => Number.NaN }],
	['shouldRetry with a promise', { shouldRetry: () => Promise.resolve(false) as unknown as boolean }],
	['classify', { classify: broken as () => never }],
])('a throwing option does not cost the message: %s', async (_, hooks) => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const retry = { ...PLAIN, ...hooks }
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry, circuitBreaker: false })
	await system.clock.advance(60_000)
	expect(system.sendings.map(({ at }) => Math.round(at / 1_000))).toEqual([0, 1, 3])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'retries-exhausted' })
})

test('a throwing isFailure is ignored', async () => {
	await using system = await setup()
	await system.enqueue(3)
	const breaker = { failureThreshold: 2, isFailure: broken as () => never }
	await system.relay({
		jobs: { deliver: system.sends(fail(new Error('no'))), maxConcurrent: 1, circuitBreaker: breaker },
	})
	await system.clock.advance(500)
	expect(system.sendings).toHaveLength(2)
})

test.each<[string, unknown, string, string]>([
	['undefined', undefined, 'undefined', 'undefined was thrown'],
	['null', null, 'null', 'null was thrown'],
	['a text', 'out of paper', 'string', 'out of paper'],
	['a frozen object', Object.freeze({ message: 'icy' }), 'object', 'icy'],
	['NUL bytes', new Error('a\u0000b'), 'Error', 'a b'],
	['half of a pair', new Error('a\uD800b'), 'Error', 'a\uFFFDb'],
])(
	'a handler may throw %s: it is a failure like others, written down as text',
	async (_, thrown, type, message) => {
		await using system = await setup()
		const [id = ''] = await system.enqueue(1)
		await system.relay({ jobs: system.sends(fail(thrown)) }, { retry: PLAIN })
		await system.clock.advance(100)
		expect(await system.outbox.find(id)).toMatchObject({
			status: 'pending',
			attempts: 1,
			lastError: { type, message },
		})
	},
)

test('a handler may be synchronous, throw, or return a thenable', async () => {
	await using system = await setup()
	const [, , third = ''] = await system.enqueue(3)
	const answers: Record<number, () => unknown> = {
		1: () => undefined,
		2: () => ({ [THEN]: (done: () => void) => done() }),
		3: fail(new Error('thrown')),
	}
	await system.relay({ jobs: ({ payload }) => answers[Number(payload)]?.() }, { retry: PLAIN })
	await system.clock.advance(100)
	const left = await system.outbox.list()
	expect(left.map(({ id }) => id)).toEqual([third])
	expect(left[0]?.lastError?.message).toBe('thrown')
})

test('a rejecting thenable is a failure; one that resolves twice counts once', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const twice = {
		[THEN]: (done: () => void, not: (error: unknown) => void) => [not(new Error('no')), done()],
	}
	await system.relay({ jobs: system.sends(() => twice) }, { retry: PLAIN })
	await system.clock.advance(100)
	expect(system.eventsOf('relay_retry_scheduled')).toHaveLength(1)
	expect(system.eventsOf('relay_sent')).toHaveLength(0)
})

test('a stored message with invalid JSON becomes a dead letter without a call of its handler', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	system.tx.prepare(`UPDATE yaoki_outbox SET payload = '{'`).all()
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(100)
	expect(system.sendings).toEqual([])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'permanent' })
})
