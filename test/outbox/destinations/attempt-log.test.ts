/** The attempt log of httpDestination, on real sockets and both databases. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpDestination, Outbox, Relay, type RelayOptions, sqliteOutboxStore } from 'yaoki/outbox'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'
import {
	answer,
	drip,
	type FaultServer,
	hang,
	type Step,
	startFaultServer,
} from '../../http/faults/fault-server.ts'
import type { Script } from '../../http/faults/script.ts'
import { eventually } from '../../support/eventually.ts'
import { postgresPool } from '../../support/postgres-pool.ts'
import { openOnPool } from '../store/postgres/opened.ts'

const postgres = postgresPool()

/** With the clock of the system, as PostgreSQL has. */
async function openSqlite() {
	const store = sqliteOutboxStore(':memory:')
	return { store, close: () => store.close() }
}

describe.each([
	['SQLite', openSqlite],
	['PostgreSQL', () => openOnPool(postgres.pool)],
] as const)('on %s', (_, open) => {
	/** Starts a relay that sends to a server with this script, and enqueues a message. */
	async function send(script: Script<Step>, options: RelayOptions = {}) {
		const server: FaultServer = await startFaultServer(script)
		const opened = await open()
		const store: OutboxStore = opened.store
		const outbox = new Outbox({ store, outsideTransaction: 'allow', historyForMs: Infinity })
		await outbox.migrate()
		const relay = new Relay(outbox, {
			destinations: { jobs: httpDestination({ url: server.url() }) },
			attemptLog: true,
			retry: { baseDelayMs: 1, maxDelayMs: 1 },
			circuitBreaker: false,
			...options,
		})
		onTestFinished(async () => {
			await relay.stop({ timeoutMs: 0 })
			await opened.close()
			await server[Symbol.asyncDispose]()
		})
		await relay.start()
		const { id } = await outbox.enqueue({ topic: 'jobs', payload: 1 })
		const attempts = (count: number) =>
			eventually(async () => {
				const found = await outbox.attempts(id)
				expect(found.length).toBeGreaterThanOrEqual(count)
				return found
			})
		return { server, outbox, relay, id, attempts }
	}

	test('records failures with their bodies, and then the 201 with its body', async () => {
		const { attempts, outbox, id } = await send([
			answer({ status: 500, body: 'stack\n  at line 7' }),
			answer({ status: 503, headers: { 'content-type': 'application/json' }, body: '{"busy":true}' }),
			answer({ status: 201, body: '{"stored":"ü😀"}' }),
		])
		const found = await attempts(3)
		expect(found).toMatchObject([
			{
				attempt: 1,
				outcome: 'retry',
				statusCode: 500,
				errorType: 'HttpError',
				response: 'stack\n  at line 7',
			},
			{ attempt: 2, outcome: 'retry', statusCode: 503, response: '{"busy":true}' },
			{ attempt: 3, outcome: 'sent', statusCode: 201, response: '{"stored":"ü😀"}' },
		])
		expect(found[0]?.errorMessage).toMatch(/^HTTP 500 for POST/)
		const [first, , last] = found.map(({ startedAt }) => startedAt.getTime())
		expect(last).toBeGreaterThanOrEqual(first ?? Number.NaN)
		expect(await outbox.find(id)).toMatchObject({ status: 'sent', attempts: 3 })
	})

	test('records a timeout without a status, and the abort by the stop of the relay', async () => {
		const { attempts, server, relay } = await send(hang(), { timeoutMs: 300 })
		expect((await attempts(1))[0]).toMatchObject({
			attempt: 1,
			outcome: 'timed-out',
			statusCode: undefined,
			errorType: 'TimeoutError',
			response: undefined,
		})
		await server.requested(2)
		await relay.stop({ timeoutMs: 0 })
		expect((await attempts(2)).map(({ outcome }) => outcome)).toContain('stopped')
	})

	test('records a 409 of a receiver that still works, with its body and without an attempt', async () => {
		const { attempts } = await send([
			answer({ status: 409, headers: { 'retry-after': '1' }, body: 'in progress' }),
			answer(),
		])
		expect(await attempts(2)).toMatchObject([
			{
				attempt: 1,
				outcome: 'in-progress',
				statusCode: 409,
				errorType: 'OutboxInProgressError',
				response: 'in progress',
			},
			{ attempt: 1, outcome: 'sent', statusCode: 200, response: undefined },
		])
	})

	test('records a permanent failure of a message that becomes a dead letter', async () => {
		const { attempts, outbox, id } = await send(answer({ status: 422, body: 'x'.repeat(5_000) }))
		expect(await attempts(1)).toMatchObject([
			{ attempt: 1, outcome: 'dead', statusCode: 422, response: 'x'.repeat(1_000) },
		])
		expect(await outbox.find(id)).toMatchObject({ status: 'dead' })
	})

	test.each([
		['endless', drip({ piece: 'abc' })],
		['that never ends after its start', hang('body', { headers: {}, body: 'abcabc' })],
	])('acks a 2xx with a body %s, stores its start, and ends the request', async (_name, step) => {
		const { attempts, server, outbox, id } = await send(step, {
			attemptLog: { maxResponseChars: 5 },
			timeoutMs: 600_000,
		})
		const [attempt] = await attempts(1)
		expect(attempt).toMatchObject({ outcome: 'sent', statusCode: 200, response: 'abcab' })
		await server.aborted(1)
		expect(await outbox.find(id)).toMatchObject({ status: 'sent', attempts: 1 })
	})

	test('acks a 2xx whose body never arrives, long before the timeout', async () => {
		const { attempts, server } = await send(hang('response-head'), { timeoutMs: 600_000 })
		expect(await attempts(1)).toMatchObject([{ outcome: 'sent', statusCode: 200, response: undefined }])
		await server.aborted(1)
	})

	test('does not read a body with maxResponseChars 0', async () => {
		const { attempts } = await send(answer({ body: 'secret' }), { attemptLog: { maxResponseChars: 0 } })
		expect(await attempts(1)).toMatchObject([{ outcome: 'sent', statusCode: 200, response: undefined }])
	})

	test('a resent message has the attempts of both deliveries', async () => {
		const { attempts, outbox, id } = await send([answer({ body: 'first' }), answer({ body: 'again' })])
		await attempts(1)
		await outbox.resend(id)
		expect(await attempts(2)).toMatchObject([
			{ attempt: 1, outcome: 'sent', response: 'first' },
			{ attempt: 1, outcome: 'sent', response: 'again' },
		])
	})
})

test('on PostgreSQL a log that cannot be written does not prevent that messages are sent, retried and dead', async () => {
	const { pool } = postgres
	const opened = await openOnPool(pool)
	const outbox = new Outbox({ store: opened.store, outsideTransaction: 'allow', historyForMs: Infinity })
	await outbox.migrate()
	await pool.query(`drop table ${opened.schema}.outbox_attempts`)
	const storeErrors: unknown[] = []
	const relay = new Relay(outbox, {
		destinations: {
			jobs: ({ payload, attempts }) => {
				if (payload === 'dead' || attempts === 1) throw new Error('not now')
			},
		},
		attemptLog: true,
		circuitBreaker: false,
		retry: { baseDelayMs: 1, maxDelayMs: 1, maxRetries: 2 },
		onEvent: (event) => event.type === 'relay_store_error' && storeErrors.push(event),
	})
	onTestFinished(async () => {
		await relay.stop({ timeoutMs: 0 })
		await opened.close()
	})
	await relay.start()
	const [sent, dead] = await outbox.enqueue(['sent', 'dead'].map((payload) => ({ topic: 'jobs', payload })))
	await eventually(async () => {
		expect(await outbox.find(sent?.id ?? '')).toMatchObject({ status: 'sent', attempts: 2 })
		expect(await outbox.find(dead?.id ?? '')).toMatchObject({ status: 'dead', attempts: 3 })
	})
	expect(storeErrors).toEqual([])
})
