import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import {
	httpDestination,
	type MessageHandler,
	Outbox,
	Relay,
	type RelayOptions,
	redactFields,
} from 'yaoki/outbox'
import { setup, type TestSystem } from './setup.ts'

const LOGGED = { attemptLog: true, pollMs: 1_000 } as const

/** Enqueues one message and returns its id. */
async function enqueueOne(system: TestSystem): Promise<string> {
	const [id = ''] = await system.enqueue(1)
	return id
}

const untilAborted: MessageHandler = (_, { signal }) =>
	new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('without attemptLog nothing is stored, and handlers get no recorder', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const recorders: unknown[] = []
	await system.relay({ jobs: (_, { attemptLog }) => recorders.push(attemptLog) })
	await system.clock.advance(100)
	expect(recorders).toEqual([undefined])
	expect(system.eventsOf('relay_sent')).toHaveLength(1)
	expect(await system.outbox.attempts(id)).toEqual([])
})

test('records each attempt with time, duration, outcome, status, error and response', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const startedAt = new Date(system.clock.wallNow())
	const results = [
		async () => {
			await system.pause(20)
			throw new HttpError(503, 'overloaded')
		},
		async () => {
			throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') })
		},
		async () => {},
	]
	const deliver: MessageHandler = async ({ attempts }, { attemptLog }) => {
		if (attempts === 3) attemptLog?.record({ statusCode: 202, response: '{"queued":true}' })
		await results[attempts - 1]?.()
	}
	await system.relay({ jobs: { deliver, circuitBreaker: false } }, LOGGED)
	await system.clock.advance(60_000)
	const attempts = await system.outbox.attempts(id.toUpperCase())
	for (const attempt of attempts)
		expect(attempt).toMatchObject({ destination: 'jobs', relay: expect.stringMatching(/^relay-/) })
	expect(attempts).toMatchObject([
		{
			attempt: 1,
			startedAt,
			durationMs: 20,
			outcome: 'retry',
			statusCode: 503,
			errorType: 'HttpError',
			errorMessage: 'HTTP 503',
			response: 'overloaded',
		},
		{
			attempt: 2,
			outcome: 'retry',
			statusCode: undefined,
			errorType: 'TypeError',
			errorMessage: 'fetch failed: ECONNRESET',
			response: undefined,
		},
		{
			attempt: 3,
			outcome: 'sent',
			statusCode: 202,
			errorType: undefined,
			errorMessage: undefined,
			response: '{"queued":true}',
		},
	])
	// The message is gone: it was sent, and no history is kept.
	expect(await system.outbox.find(id)).toBeUndefined()
	expect(await system.outbox.attempts(id, { limit: 1, after: attempts[0] })).toEqual([attempts[1]])
})

test('records a timeout, and then a dead letter', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const deliver: MessageHandler = (message, context) => {
		if (message.attempts === 1) return untilAborted(message, context)
		throw permanent(new Error('no such account'))
	}
	await system.relay({ jobs: { deliver, timeoutMs: 500 } }, LOGGED)
	await system.clock.advance(60_000)
	expect(await system.outbox.attempts(id)).toMatchObject([
		{ attempt: 1, outcome: 'timed-out', durationMs: 500, errorType: 'TimeoutError' },
		{ attempt: 2, outcome: 'dead', errorMessage: 'no such account' },
	])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead' })
})

test('records an attempt that the stop of the relay aborted, also of a handler that ignores its signal', async () => {
	await using system = await setup()
	const [first = '', second = ''] = await system.enqueue(2)
	const deliver: MessageHandler = (message, context) =>
		message.id === first ? untilAborted(message, context) : new Promise(() => {})
	const relay = await system.relay({ jobs: deliver }, LOGGED)
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 500 })
	await system.clock.advance(10_000)
	await stopped
	for (const id of [first, second])
		expect(await system.outbox.attempts(id)).toMatchObject([
			{ attempt: 1, outcome: 'stopped', errorType: 'RelayStoppedError' },
		])
})

test('records as paused what fails because of the destination and uses no attempt', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const deliver: MessageHandler = async () => {
		throw new HttpError(401, 'expired token')
	}
	await system.relay({ jobs: deliver }, LOGGED)
	await system.clock.advance(10)
	expect(await system.outbox.attempts(id)).toMatchObject([
		{ outcome: 'paused', statusCode: 401, response: 'expired token' },
	])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 0 })
})

test('a message that was not attempted has no record', async () => {
	await using system = await setup()
	const [expired = ''] = await system.enqueue(1, { expiresAt: new Date(system.clock.wallNow() + 10) })
	await system.clock.advance(1_000)
	await system.relay({ jobs: system.sends() }, LOGGED)
	await system.clock.advance(100)
	expect(await system.outbox.find(expired)).toMatchObject({ status: 'dead', cause: 'expired' })
	expect(await system.outbox.attempts(expired)).toEqual([])
})

test('a lost lease is recorded by the relay that lost it, beside the attempt of the next relay', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const { store, clock } = system
	await system.relay({ jobs: untilAborted }, { ...LOGGED, leaseMs: 60_000, timeoutMs: 3_600_000 })
	await clock.advance(100)
	// As another relay would find it after the lease: it belongs to the other one.
	store.database.prepare("UPDATE yaoki_outbox SET locked_by = 'other' WHERE id = ?").run(id)
	await clock.advance(60_000)
	expect(system.eventsOf('relay_lease_lost')).toHaveLength(1)
	expect(await system.outbox.attempts(id)).toMatchObject([
		{ attempt: 1, outcome: 'lease-lost', errorType: undefined },
	])
})

test('a result that arrives after the lease was taken over is recorded as lease-lost', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const { store, clock } = system
	await system.relay({ jobs: () => system.pause(1_000) }, { ...LOGGED, leaseMs: 3_600_000 })
	await clock.advance(100)
	store.database.prepare("UPDATE yaoki_outbox SET locked_by = 'other' WHERE id = ?").run(id)
	await clock.advance(2_000)
	expect(await system.outbox.attempts(id)).toMatchObject([{ outcome: 'lease-lost', durationMs: 1_000 }])
})

const EXCERPTS: readonly (readonly [string, RelayOptions['attemptLog'], unknown, unknown])[] = [
	['is cut to maxResponseChars', { maxResponseChars: 4 }, 'abcdef', 'abcd'],
	['is cut to whole characters', { maxResponseChars: 4 }, 'abc😀def', 'abc'],
	['has at most 1,000 characters by default', true, 'x'.repeat(5_000), 'x'.repeat(1_000)],
	['is not stored with maxResponseChars 0', { maxResponseChars: 0 }, 'abc', undefined],
	['has no NUL and no lone surrogate', true, 'a\0b\ud800c', 'a\ufffdb\ufffdc'],
	['is replaced by redact', { redact: (text) => text.replace(/\d+/, '#') }, 'card 4242', 'card #'],
	[
		'gets redacted before it is cut again',
		{ maxResponseChars: 5, redact: (text) => `${text}${text}` },
		'abcdef',
		'abcde',
	],
	[
		'is not stored if redact throws',
		{
			redact: () => {
				throw new Error('bug')
			},
		},
		'secret',
		undefined,
	],
	['is not stored if redact returns no text', { redact: (() => 7) as never }, 'secret', undefined],
	['is not stored if it is no text', true, { toString: () => 'secret' }, undefined],
]

test.each(EXCERPTS)('the excerpt of a response %s', async (_, attemptLog, response, expected) => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const deliver: MessageHandler = (_message, context) => {
		context.attemptLog?.record({ response: response as string })
	}
	await system.relay({ jobs: deliver }, { attemptLog })
	await system.clock.advance(100)
	const [attempt] = await system.outbox.attempts(id)
	expect(attempt).toMatchObject({ outcome: 'sent' })
	expect(attempt?.response).toBe(expected)
	// Nothing else is in the database either.
	const [row] = system.store.database.prepare('SELECT response FROM yaoki_outbox_attempts').all()
	expect(row).toEqual({ response: expected ?? null })
})

test.each([{}, null, undefined, 7, { statusCode: 99 }, { statusCode: '200', response: null }])(
	'a handler that records %o does not fail',
	async (facts) => {
		await using system = await setup()
		const id = await enqueueOne(system)
		const deliver: MessageHandler = (_, { attemptLog }) => attemptLog?.record(facts as object)
		await system.relay({ jobs: deliver }, LOGGED)
		await system.clock.advance(100)
		expect(await system.outbox.attempts(id)).toMatchObject([
			{ outcome: 'sent', statusCode: undefined, response: undefined },
		])
	},
)

test('relays delete records after keepForMs, whatever became of the message', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	await system.relay({ jobs: () => {} }, { attemptLog: { keepForMs: 300_000 }, pollMs: 60_000 })
	await system.clock.advance(200_000)
	expect(await system.outbox.attempts(id)).toHaveLength(1)
	await system.clock.advance(200_000)
	expect(await system.outbox.attempts(id)).toEqual([])
})

test('a log that cannot be written does not prevent that messages are sent and retried', async () => {
	await using system = await setup()
	system.store.database.exec('DROP TABLE yaoki_outbox_attempts')
	await system.enqueue(20)
	const failing = system.sends(({ attempts }) => {
		if (attempts === 1) throw new Error('not now')
	})
	const relay = await system.relay({ jobs: { deliver: failing, circuitBreaker: false } }, LOGGED)
	await system.clock.advance(60_000)
	expect(system.eventsOf('relay_retry_scheduled')).toHaveLength(20)
	expect(system.eventsOf('relay_sent')).toHaveLength(20)
	expect(system.eventsOf('relay_store_error')).toEqual([])
	expect(relay.stats.sent).toBe(20)
})

test('a destination overrides the attemptLog of its relay', async () => {
	await using system = await setup()
	const deliver: MessageHandler = () => {}
	const destinations = {
		on: { deliver, attemptLog: true },
		off: { deliver, attemptLog: false },
		inherits: deliver,
	}
	await system.relay(destinations, { attemptLog: { keepForMs: 60_000 } })
	const ids = await system.outbox.enqueue(
		Object.keys(destinations).map((topic) => ({ topic, payload: topic })),
	)
	await system.clock.advance(100)
	const counts = await Promise.all(ids.map(async ({ id }) => (await system.outbox.attempts(id)).length))
	expect(counts).toEqual([1, 0, 1])
})

test.each([
	[{ attemptLog: 1 }, 'attemptLog'],
	[{ attemptLog: { keepFor: 1 } }, 'attemptLog.keepFor'],
	[{ attemptLog: { keepForMs: 0 } }, 'attemptLog.keepForMs'],
	[{ attemptLog: { maxResponseChars: -1 } }, 'attemptLog.maxResponseChars'],
	[{ attemptLog: { maxResponseChars: 1.5 } }, 'attemptLog.maxResponseChars'],
	[{ attemptLog: { maxResponseChars: 100_001 } }, 'attemptLog.maxResponseChars'],
	[{ attemptLog: { redact: 'email' } }, 'attemptLog.redact'],
])('rejects %o of a relay and of a destination', async (options, path) => {
	await using system = await setup()
	const { outbox } = system
	const deliver: MessageHandler = () => {}
	const ofRelay = () => new Relay(outbox, { destinations: { a: deliver }, ...(options as object) })
	const ofDestination = () => new Relay(outbox, { destinations: { a: { deliver, ...(options as object) } } })
	expect(ofRelay).toThrow(expect.objectContaining({ optionPath: path }))
	expect(ofDestination).toThrow(expect.objectContaining({ optionPath: `destinations['a'].${path}` }))
})

test('redact of the outbox hides values of the payload in errors and excerpts, also those cut off', async () => {
	await using system = await setup()
	const payload = { email: 'ada@example.com', total: 12 }
	const { id } = await system.outbox.enqueue({ topic: 'jobs', payload })
	const deliver: MessageHandler = async (_, { attemptLog }) => {
		attemptLog?.record({ statusCode: 422, response: 'no account for ada@example.com' })
		throw permanent(new Error('no account for ada@example.com'))
	}
	await system.relay({ jobs: deliver }, { attemptLog: { maxResponseChars: 20 } })
	await system.clock.advance(100)
	const shown = new Outbox({ store: system.store, redact: redactFields(['email']) })
	expect(await shown.attempts(id)).toMatchObject([
		{
			outcome: 'dead',
			statusCode: 422,
			errorMessage: 'no account for [redacted]',
			response: 'no account for [redacted]',
		},
	])
	expect((await system.outbox.attempts(id))[0]?.response).toBe('no account for ada@e')
	await system.outbox.dead.discard({ ids: [id] })
	const hidden = '[not shown: redaction needs the message, which is no longer stored]'
	expect(await shown.attempts(id)).toMatchObject([{ errorMessage: hidden, response: hidden }])
})

test.each([
	['an id that is no UUID', 'x', {}, []],
	['an unknown id', '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77', { limit: 1 }, []],
] as const)('attempts of %s are none', async (_, id, options, expected) => {
	await using system = await setup()
	expect(await system.outbox.attempts(id, options)).toEqual(expected)
})

test.each([
	[{ limit: 0 }, 'limit'],
	[{ after: 7 }, 'after'],
	[{ before: 7 }, 'before'],
])('attempts rejects %o', async (options, optionPath) => {
	await using system = await setup()
	const id = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'
	await expect(system.outbox.attempts(id, options as object)).rejects.toMatchObject({ optionPath })
})

test('a message whose 2xx has arrived is sent, even if the timeout ends the reading of the body', async () => {
	await using system = await setup()
	const id = await enqueueOne(system)
	const reading = Promise.withResolvers<void>()
	let isEnded = false
	const body = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				if (isEnded) return
				controller.enqueue(new TextEncoder().encode('ok'))
				isEnded = true
				reading.resolve()
			},
			cancel: () => new Promise(() => {}),
		},
		{ highWaterMark: 0 },
	)
	const fetch = async () => new Response(body, { status: 200 })
	const destination = httpDestination({ url: 'http://127.0.0.1:1/', timeoutMs: 5_000, fetch })
	await system.relay({ jobs: destination }, LOGGED)
	await system.clock.advance(10)
	await reading.promise
	await system.clock.advance(6_000)
	expect(system.eventsOf('relay_sent')).toMatchObject([{ messageId: id, attempts: 1 }])
	expect(system.eventsOf('relay_retry_scheduled')).toEqual([])
	expect(await system.outbox.attempts(id)).toMatchObject([{ outcome: 'sent', statusCode: 200 }])
})
