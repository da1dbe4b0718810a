/** What holds for the transaction of every ORM, on a real PostgreSQL. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type IdempotencyRunContext, idempotency, postgresIdempotencyStore } from 'yaoki/idempotency'
import {
	Inbox,
	type InboxOptions,
	Outbox,
	type OutboxOptions,
	postgresInboxStore,
	postgresOutboxStore,
	Relay,
	sqliteOutboxStore,
} from 'yaoki/outbox'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import type { OpenTransaction, Orm, OrmDatabase } from './orm.ts'

const CALLER = { principal: 'shop' }
const MESSAGE = { topic: 'order.placed', payload: { total: 1 } }
const ROLLBACK = new Error('rolled back on purpose')

const failure = (promise: Promise<unknown>): Promise<unknown> =>
	promise.then(
		(value) => {
			throw new Error(`expected a rejection, got ${JSON.stringify(value)}`)
		},
		(error: unknown) => error,
	)

export function describeOrm(orm: Orm): void {
	describe(orm.name, () => {
		let server: PostgresDatabase
		let pool: pg.Pool
		let database: OrmDatabase
		let store: ReturnType<typeof postgresOutboxStore>
		let keys: ReturnType<typeof postgresIdempotencyStore>
		let marks: ReturnType<typeof postgresInboxStore>
		let orders = 0

		beforeAll(async () => {
			server = await postgresDatabase()
			pool = new pg.Pool({ ...server.connection, max: 6 })
			store = postgresOutboxStore({ client: pool })
			keys = postgresIdempotencyStore({ client: pool })
			await new Outbox({ store }).migrate()
			await keys.migrate()
			marks = postgresInboxStore({ client: pool })
			await marks.migrate()
			await pool.query('create table orders (id int primary key, total int not null)')
			await pool.query('create table samples (id int, bytes bytea, big bigint, doc jsonb, texts text)')
			database = await orm.open(server.url)
		})
		afterAll(async () => {
			await database?.close()
			await store?.close()
			await pool?.end()
			await server?.[Symbol.asyncDispose]()
		})
		beforeEach(async () => {
			await pool.query('truncate orders, samples, yaoki.outbox, yaoki.outbox_dedupe, yaoki.inbox')
		})

		const outboxWith = (options: Partial<OutboxOptions> = {}) => {
			const warnings: string[] = []
			const onWarning = (text: string) => warnings.push(text)
			return { warnings, outbox: new Outbox({ store, onWarning, ...options }) }
		}
		const insertOrder = ({ run }: OpenTransaction) => run(`insert into orders values (${++orders}, 1)`)
		const count = async (table: string) =>
			Number((await pool.query(`select count(*) from ${table}`)).rows[0].count)
		const engineWith = () => idempotency({ name: 'shop', store: keys, principal: () => 'anonymous' })

		test('a commit makes the message visible, and wakes a relay that would not poll', async () => {
			const { outbox, warnings } = outboxWith({ outsideTransaction: 'reject' })
			const sent = Promise.withResolvers<unknown>()
			const handler = async (message: { readonly payload: unknown }) => sent.resolve(message.payload)
			const relay = new Relay(outbox, { destinations: { '*': handler }, pollMs: 3_600_000 })
			await relay.start()
			onTestFinished(() => relay.stop())
			await database.transaction(async (open) => {
				await insertOrder(open)
				const { isDuplicate } = await outbox.enqueue(MESSAGE, { tx: open.tx() })
				expect(isDuplicate).toBe(false)
				expect(await count('yaoki.outbox')).toBe(0)
			})
			expect(await sent.promise).toEqual(MESSAGE.payload)
			expect(await count('orders')).toBe(1)
			expect(warnings).toEqual([])
		})

		test('a rollback leaves neither the change nor the message', async () => {
			const { outbox } = outboxWith()
			const rolledBack = database.transaction(async (open) => {
				await insertOrder(open)
				await outbox.enqueue(MESSAGE, { tx: open.tx() })
				throw ROLLBACK
			})
			expect(await failure(rolledBack)).toBe(ROLLBACK)
			expect(await count('orders')).toBe(0)
			expect(await count('yaoki.outbox')).toBe(0)
		})

		test.each([
			['a message', MESSAGE],
			['a message with a key and a time', { ...MESSAGE, key: 'k', notBefore: new Date(Date.now() + 60_000) }],
			['a batch', [MESSAGE, { ...MESSAGE, key: 'k', headers: { a: '?$1' } }, MESSAGE]],
		])('%s can be the first write of the transaction', async (_, given) => {
			const { outbox, warnings } = outboxWith({ outsideTransaction: 'reject' })
			await database.transaction((open) => outbox.enqueue(given as typeof MESSAGE, { tx: open.tx() }))
			expect(await count('yaoki.outbox')).toBe([given].flat().length)
			expect(warnings).toEqual([])
		})

		test('duplicates are reported', async () => {
			const { outbox } = outboxWith()
			const once = { ...MESSAGE, dedupeKey: 'order-1' }
			await database.transaction(async (open) => {
				await insertOrder(open)
				const first = await outbox.enqueue(once, { tx: open.tx() })
				const [other, again] = await outbox.enqueue([MESSAGE, once], { tx: open.tx() })
				expect(other?.isDuplicate).toBe(false)
				expect(again).toEqual({ id: first.id, isDuplicate: true })
			})
			expect(await count('yaoki.outbox')).toBe(2)
		})

		describe.each(['warn', 'allow', 'reject'] as const)('outsideTransaction: %s', (outsideTransaction) => {
			test.each(['commit', 'rollback'])('after a %s the message is rejected', async (end) => {
				const { outbox, warnings } = outboxWith({ outsideTransaction })
				let ended: OpenTransaction | undefined
				const used = await database
					.transaction(async (open) => {
						ended = open
						await insertOrder(open)
						if (end === 'rollback') throw ROLLBACK
						return open.tx()
					})
					.catch(() => undefined)
				// The first with the client as it was used, the other as if the function were called too late.
				for (const tx of [() => used ?? ended?.tx(), () => ended?.tx()]) {
					const error = await failure(Promise.resolve().then(() => outbox.enqueue(MESSAGE, { tx: tx() })))
					expect(error).toMatchObject({
						code: expect.stringMatching(/^YAOKI_(OUTBOX_TRANSACTION|INVALID_ARGUMENT)$/),
					})
				}
				expect(await count('yaoki.outbox')).toBe(0)
				expect(warnings).toEqual([])
			})
		})

		test.each(['commit', 'rollback'])(
			'a message that is not awaited is never written outside the transaction: %s',
			async (end) => {
				const { outbox } = outboxWith()
				const pending: Promise<unknown>[] = []
				const transaction = database.transaction(async (open) => {
					await insertOrder(open)
					pending.push(outbox.enqueue(MESSAGE, { tx: open.tx() }).catch((error: unknown) => error))
					if (end === 'rollback') throw ROLLBACK
				})
				await transaction.catch(() => {})
				const [result] = await Promise.all(pending)
				const isWritten = end === 'commit' && !(result instanceof Error)
				expect(await count('yaoki.outbox')).toBe(isWritten ? 1 : 0)
			},
		)

		test('the own object of the ORM is rejected, and the error names the function', async () => {
			const { outbox } = outboxWith()
			const engine = engineWith()
			const key = `own-${orm.name}`
			for (const reject of [
				...(orm.ownIsClient === true ? [] : [(tx: never) => outbox.enqueue(MESSAGE, { tx })]),
				(tx: never) => engine.run(key, 1, (context) => context.complete(1, { tx }), CALLER),
			]) {
				const error = await failure(database.transaction(({ own }) => reject(own as never)))
				expect(error).toMatchObject({ message: expect.stringContaining(`${orm.function}(`) })
			}
			expect(await count('yaoki.outbox')).toBe(0)
			await engine.close()
		})

		test('what has no transaction is rejected immediately', () => {
			expect(orm.misuses.length).toBeGreaterThan(0)
			for (const misuse of orm.misuses)
				expect(() => misuse(database)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT' }))
		})

		test('an outbox in SQLite rejects the transaction and names both databases', async () => {
			const sqlite = sqliteOutboxStore(':memory:')
			const outbox = new Outbox({ store: sqlite })
			await outbox.migrate()
			const error = await failure(database.transaction((open) => outbox.enqueue(MESSAGE, { tx: open.tx() })))
			expect(error).toMatchObject({ code: 'YAOKI_OUTBOX_TRANSACTION', reason: 'wrong-database' })
			expect(String(error)).toMatch(/the store sqlite: .*got a transaction of .* on PostgreSQL/)
			await outbox.close()
		})

		test('a read-only transaction, such as that of a replica, is a clear error', async () => {
			const { outbox } = outboxWith()
			const readOnly = (work: (open: OpenTransaction) => Promise<unknown>) =>
				database.transaction(async (open) => {
					await open.run('set transaction read only')
					return work(open)
				})
			const engine = engineWith()
			const enqueued = readOnly((open) => outbox.enqueue(MESSAGE, { tx: open.tx() }))
			expect(String(await failure(enqueued))).toMatch(
				/cannot execute INSERT in a read-only transaction \(SQLSTATE 25006\)\. Start a transaction that may write/,
			)
			const key = `read-only-${orm.name}`
			const completed = engine.run(
				key,
				1,
				(context) => readOnly((open) => context.complete(1, { tx: open.tx() })),
				CALLER,
			)
			expect(String(await failure(completed))).toMatch(
				/cannot execute UPDATE in a read-only transaction \(SQLSTATE 25006\)\. Start a transaction that may write/,
			)
			await engine.close()
		})

		test.each([
			['after a change', true],
			['as the first write', false],
		])('the result of an idempotent function is stored with the commit, %s', async (_, isAfterChange) => {
			const engine = engineWith()
			const key = `stored-${orm.name}-${isAfterChange}`
			let runs = 0
			const run = (fails: boolean) =>
				engine.run(
					key,
					{ total: 5 },
					(context) =>
						database.transaction(async (open) => {
							runs++
							if (isAfterChange) await insertOrder(open)
							const result = await context.complete({ bytes: 'ÿ?$1', runs }, { tx: open.tx() })
							if (fails) throw ROLLBACK
							return result
						}),
					CALLER,
				)
			expect(await failure(run(true))).toBe(ROLLBACK)
			expect(await count('orders')).toBe(0)
			expect(await run(false)).toEqual({ bytes: 'ÿ?$1', runs: 2 })
			expect(await run(false)).toEqual({ bytes: 'ÿ?$1', runs: 2 })
			expect(runs).toBe(2)
			expect(await count('orders')).toBe(isAfterChange ? 1 : 0)
			await engine.close()
		})

		test('a result is not stored after the end of the transaction', async () => {
			const engine = engineWith()
			const complete = async (context: IdempotencyRunContext) => {
				const tx = await database.transaction(async (open) => {
					await insertOrder(open)
					return open.tx()
				})
				return context.complete(1, { tx })
			}
			const late = engine.run(`late-${orm.name}`, 1, complete, CALLER)
			expect(await failure(late)).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_NO_TRANSACTION' })
			await engine.close()
		})

		describe.each(['wait', 'reject'] as const)('an inbox with onConflict %s', (onConflict) => {
			const inboxWith = (options: Partial<InboxOptions> = {}) =>
				new Inbox({ store: marks, purgeEveryMs: 0, onConflict, ...options })

			test('commits mark and effect together, and a second delivery is a duplicate', async () => {
				const inbox = inboxWith()
				const deliver = () =>
					database.transaction((open) => inbox.once('a', { tx: open.tx() }, () => insertOrder(open)))
				expect(await deliver()).toMatchObject({ isDuplicate: false })
				expect(await deliver()).toEqual({ isDuplicate: true })
				expect(await count('orders')).toBe(1)
				expect(await count('yaoki.inbox')).toBe(1)
			})

			test('leaves neither mark nor effect after a rollback', async () => {
				const inbox = inboxWith()
				const rolledBack = database.transaction(async (open) => {
					await inbox.once('a', { tx: open.tx() }, () => insertOrder(open))
					throw ROLLBACK
				})
				expect(await failure(rolledBack)).toBe(ROLLBACK)
				expect(await count('orders')).toBe(0)
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test('leaves no mark if its function fails and the transaction is committed', async () => {
				const inbox = inboxWith()
				await database.transaction(async (open) => {
					await insertOrder(open)
					const failing = inbox.once('a', { tx: open.tx() }, () => Promise.reject(ROLLBACK))
					expect(await failure(failing)).toBe(ROLLBACK)
				})
				expect(await count('orders')).toBe(1)
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test('rejects a function that hides the error of a statement, because its COMMIT would roll back', async () => {
				const inbox = inboxWith()
				const hiding = database.transaction((open) =>
					inbox.once('a', { tx: open.tx() }, async () => {
						await failure(Promise.resolve(open.run('select 1 / 0')))
					}),
				)
				expect(await failure(hiding)).toMatchObject({ code: 'YAOKI_INBOX_TRANSACTION', reason: 'failed' })
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test('rejects a transaction that has ended', async () => {
				const inbox = inboxWith()
				const tx = await database.transaction(async (open) => {
					await insertOrder(open)
					return open.tx()
				})
				const late = inbox.once('a', { tx }, () => {
					throw new Error('ran')
				})
				expect(await failure(late)).toMatchObject({
					code: 'YAOKI_INBOX_TRANSACTION',
					reason: 'outside-transaction',
				})
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test('rolls back the mark with a savepoint', async () => {
				const inbox = inboxWith()
				await database.transaction(async (open) => {
					await insertOrder(open)
					await open.run('savepoint one')
					await inbox.once('a', { tx: open.tx() }, () => insertOrder(open))
					await open.run('rollback to savepoint one')
					await inbox.once('b', { tx: open.tx() }, () => insertOrder(open))
				})
				expect(await count('orders')).toBe(2)
				const { rows } = await pool.query('select message_id from yaoki.inbox')
				expect(rows).toEqual([{ message_id: 'b' }])
			})
		})

		test('a nested transaction that is rolled back takes message and mark with it, and the outer one goes on', async () => {
			const { outbox } = outboxWith({ outsideTransaction: 'reject' })
			const inbox = new Inbox({ store: marks, purgeEveryMs: 0 })
			const deliver = (open: OpenTransaction, id: string) =>
				inbox.once(id, { tx: open.tx() }, async () => {
					await insertOrder(open)
					await outbox.enqueue(MESSAGE, { tx: open.tx() })
				})
			await database.transaction(async (open) => {
				if (!open.nested) return
				await deliver(open, 'outer')
				const rolledBack = open.nested(async (nested) => {
					await deliver(nested, 'nested')
					throw ROLLBACK
				})
				expect(await failure(rolledBack)).toBe(ROLLBACK)
				await open.nested((nested) => deliver(nested, 'kept'))
				const failing = inbox.once('failing', { tx: open.tx() }, () =>
					open.nested?.(async (nested) => {
						await nested.run('select 1 / 0')
					}),
				)
				expect(await failure(failing)).toBeInstanceOf(Error)
				await deliver(open, 'last')
			})
			const { rows } = await pool.query('select message_id as id from yaoki.inbox order by id')
			// None for an ORM without nested transactions.
			if (rows.length > 0) expect(rows).toEqual([{ id: 'kept' }, { id: 'last' }, { id: 'outer' }])
			expect(await count('orders')).toBe(rows.length)
			expect(await count('yaoki.outbox')).toBe(rows.length)
		})

		test('a text with a repeated parameter, question marks, bytes, JSON and large numbers runs as it is', async () => {
			await pool.query('insert into samples values (1), (2)')
			const bytes = new Uint8Array([0, 1, 63, 255])
			await database.transaction(async (open) => {
				const { query } = Object(open.tx())
				const text = `update samples set bytes = $1::bytea, big = $2::bigint, doc = $3::text::jsonb,
					texts = $4::text || '?' || $4::text where id = $5 and not $3::text::jsonb ? 'b' returning texts, '?' as mark`
				const result = await query.call(open.tx(), text, [bytes, '9007199254740993', '{"a":[1]}', 'x$1?y', 1])
				expect(Array.from(result.rows ?? result)).toEqual([{ texts: 'x$1?y?x$1?y', mark: '?' }])
			})
			const { rows } = await pool.query('select * from samples where id = 1')
			expect(rows).toEqual([
				{ id: 1, bytes: Buffer.from(bytes), big: '9007199254740993', doc: { a: [1] }, texts: 'x$1?y?x$1?y' },
			])
		})
	})
}
