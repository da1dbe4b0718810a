/** A sender with an outbox and a relay, and a receiver with an inbox: what is sent twice has its effect once. */
import Fastify from 'fastify'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import {
	httpDestination,
	Inbox,
	type InboxOptions,
	Outbox,
	postgresInboxStore,
	Relay,
	type RelayEvent,
	sqliteOutboxStore,
} from 'yaoki/outbox'
import { eventually } from '../../support/eventually.ts'
import { openPostgres } from './postgres.ts'

/** A receiver as the guide shows it. `beforeCommit` is a point where a test can stop it. */
async function startReceiver(options: Partial<InboxOptions> = {}) {
	const database = await openPostgres()
	const inbox = new Inbox({ store: postgresInboxStore({ client: database.pool }), ...options })
	await inbox.migrate()
	const state = { responses: [] as number[], beforeCommit: async () => {}, afterCommit: () => {} }
	const app = Fastify()
	app.post('/orders', async (request, reply) => {
		const tx: pg.PoolClient = await database.pool.connect()
		try {
			await tx.query('begin')
			await inbox.once(String(request.headers['idempotency-key']), { tx }, () =>
				tx.query('insert into effects values ($1)', [(request.body as { order: string }).order]),
			)
			await state.beforeCommit()
			await tx.query('commit')
			state.afterCommit()
			return {}
		} catch (error) {
			await tx.query('rollback').catch(() => {})
			const { code, retryAfterMs } = error as { code?: string; retryAfterMs?: number }
			if (code !== 'YAOKI_INBOX_CONFLICT') throw error
			return reply
				.code(409)
				.header('retry-after', Math.ceil(Number(retryAfterMs) / 1_000))
				.send()
		} finally {
			tx.release()
		}
	})
	app.addHook('onResponse', async (_, reply) => {
		state.responses.push(reply.statusCode)
	})
	const origin = await app.listen({ port: 0, host: '127.0.0.1' })
	onTestFinished(async () => {
		await app.close()
		await inbox.close()
	})
	return { database, inbox, state, app, url: `${origin}/orders` }
}

async function startSender(fetches: (typeof fetch)[], url: string) {
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), onWarning: () => {} })
	await outbox.migrate()
	const events: RelayEvent[] = []
	const relay = new Relay(outbox, {
		destinations: {
			orders: httpDestination({ url, fetch: (...args) => (fetches.shift() ?? fetch)(...args) }),
		},
		retry: { baseDelayMs: 1, maxDelayMs: 2 },
		pollMs: 20,
		onEvent: (event) => events.push(event),
	})
	onTestFinished(async () => {
		await relay.stop()
		await outbox.close()
	})
	await relay.start()
	const send = (order: string) => outbox.enqueue({ topic: 'orders', payload: { order } })
	const typesOf = () => events.map(({ type }) => type).filter((type) => !/start|stop/.test(type))
	return { outbox, relay, events, send, typesOf }
}

/** The receiver has committed, and the sender does not learn it. */
const losingResponse: typeof fetch = async (...args) => {
	const response = await fetch(...args)
	await response.body?.cancel()
	throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
}

test('a message whose acknowledgement is lost is sent again, and has its effect once', async () => {
	const { database, state, url } = await startReceiver()
	const { send, typesOf } = await startSender([losingResponse, losingResponse], url)
	await send('o-1')
	await eventually(() => expect(typesOf()).toContain('relay_sent'))
	expect(typesOf()).toEqual(['relay_retry_scheduled', 'relay_retry_scheduled', 'relay_sent'])
	expect(state.responses).toEqual([200, 200, 200])
	expect(await database.effects()).toEqual(['o-1'])
})

test('a receiver that fails before its COMMIT processes the message again', async () => {
	const { database, state, url } = await startReceiver()
	let failures = 2
	state.beforeCommit = async () => {
		if (failures-- > 0) throw new Error('crash')
	}
	const { send, typesOf } = await startSender([], url)
	await send('o-1')
	await eventually(() => expect(typesOf()).toContain('relay_sent'))
	expect(state.responses).toEqual([500, 500, 200])
	expect(await database.effects()).toEqual(['o-1'])
})

test('a missing table gives 500, and nothing is lost', async () => {
	const { database, inbox, state, url } = await startReceiver()
	await database.pool.query('drop schema yaoki cascade')
	const { send, typesOf } = await startSender([], url)
	await send('o-1')
	await eventually(() => expect(typesOf()).toContain('relay_retry_scheduled'))
	expect(state.responses[0]).toBe(500)
	expect(await database.effects()).toEqual([])
	await inbox.migrate()
	await eventually(() => expect(typesOf()).toContain('relay_sent'))
	expect(await database.effects()).toEqual(['o-1'])
})

test('a second delivery in flight gets 409 with Retry-After, and uses no attempt', async () => {
	const { database, state, url } = await startReceiver({ onConflict: 'reject' })
	const held = Promise.withResolvers<void>()
	const isHeld = Promise.withResolvers<void>()
	state.beforeCommit = async () => {
		isHeld.resolve()
		await held.promise
	}
	// The sender gives the first attempt up while the receiver still processes it.
	const givingUp: typeof fetch = async (...args) => {
		const pending = fetch(...args)
		pending.catch(() => {})
		await isHeld.promise
		throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
	}
	const { send, events, outbox } = await startSender([givingUp], url)
	const { id } = await send('o-1')
	const released = await eventually(() => {
		const event = events.find(({ type }) => type === 'relay_released')
		expect(event).toMatchObject({ reason: 'in-progress', messageId: id })
		return event
	})
	expect(released).toBeDefined()
	expect(await outbox.find(id)).toMatchObject({ attempts: 1 })
	held.resolve()
	await eventually(() => expect(events.some(({ type }) => type === 'relay_sent')).toBe(true))
	expect(events.find(({ type }) => type === 'relay_sent')).toMatchObject({ attempts: 2 })
	expect(state.responses).toContain(409)
	expect(await database.effects()).toEqual(['o-1'])
})

test('a relay that crashes after sending leaves the message to another one, and it has its effect once', async () => {
	const { database, state, url } = await startReceiver()
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), onWarning: () => {} })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	await outbox.enqueue({ topic: 'orders', payload: { order: 'o-1' } })
	const destination = httpDestination({ url })
	// A claim without a settlement is what a killed relay leaves behind.
	const target = { destination: 'orders', limit: 1, since: 0, isOrdered: false, isProbe: false }
	const claimed = await outbox.store.claim({
		owner: 'crashed',
		leaseMs: 50,
		targets: [target],
		poisonCandidates: false,
		poisonAfter: 1,
	})
	const id = claimed.rows[0]?.id ?? ''
	await destination.deliver(
		{
			id,
			topic: 'orders',
			destination: 'orders',
			key: undefined,
			sequence: 1,
			payload: { order: 'o-1' },
			headers: {},
			attempts: 1,
			createdAt: new Date(0),
			expiresAt: undefined,
		},
		{ signal: new AbortController().signal, attempt: 0 },
	)
	expect(await database.effects()).toEqual(['o-1'])
	const relay = new Relay(outbox, { destinations: { orders: destination }, pollMs: 20 })
	onTestFinished(() => relay.stop())
	const sent = Promise.withResolvers<void>()
	relay.subscribe(({ type }) => type === 'relay_sent' && sent.resolve())
	await relay.start()
	await sent.promise
	expect(state.responses).toEqual([200, 200])
	expect(await database.effects()).toEqual(['o-1'])
})
