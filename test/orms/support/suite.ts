/** What holds for the transaction of every ORM, on a real PostgreSQL. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type IdempotencyRunContext, idempotency, postgresIdempotencyStore } from 'yaoki/idempotency'
import {
	Inbox,
	Outbox,
	type OutboxOptions,
	postgresInboxStore,
	postgresOutboxStore,
	type Queryable,
	Relay,
	sqliteInboxStore,
	sqliteOutboxStore,
} from 'yaoki/outbox'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
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

/** A database of the stores that the test queries beside the transactions. */
interface Admin {
	query(text: string): Promise<{ readonly rows: readonly unknown[] }>
}

export function describeOrm(orm: Orm): void {
	describe(orm.name, () => {
		let server: PostgresDatabase | undefined
		let pool: pg.Pool | undefined
		let admin: Admin
		let database: OrmDatabase
		let store: ReturnType<typeof postgresOutboxStore>
		let keys: ReturnType<typeof postgresIdempotencyStore>
		let marks: ReturnType<typeof postgresInboxStore>
		let inbox: Inbox
		let ids = 0

		/** Returns an ORM on another database, whose stores have no tables. */
		const openOther = async (): Promise<OrmDatabase> => {
			const other = orm.isInProcess ? undefined : await postgresDatabase()
			const opened = await orm.open(other?.url ?? '')
			onTestFinished(async () => {
				await opened.close()
				await other?.[Symbol.asyncDispose]()
			})
			return opened
		}

		beforeAll(async () => {
			server = orm.isInProcess ? undefined : await postgresDatabase()
			database = await orm.open(server?.url ?? '')
			pool = server && new pg.Pool({ ...server.connection, max: 6 })
			const client = pool ?? database.storeClient
			if (client === undefined) throw new Error(`${orm.name} has no client for the stores`)
			admin = client
			store = postgresOutboxStore({ client })
			keys = postgresIdempotencyStore({ client })
			marks = postgresInboxStore({ client })
			inbox = new Inbox({ store: marks, purgeEveryMs: 0 })
			await new Outbox({ store }).migrate()
			await keys.migrate()
			await inbox.migrate()
			await admin.query('create table orders (id int primary key, total int not null)')
			await admin.query('create table samples (id int, bytes bytea, big bigint, doc jsonb, texts text)')
		})
		afterAll(async () => {
			await store?.close()
			await inbox?.close()
			await database?.close()
			await pool?.end()
			await server?.[Symbol.asyncDispose]()
		})
		beforeEach(async () => {
			await admin.query('truncate orders, samples, yaoki.outbox, yaoki.outbox_dedupe, yaoki.inbox')
		})

		const outboxWith = (options: Partial<OutboxOptions> = {}) => {
			const warnings: string[] = []
			const onWarning = (text: string) => warnings.push(text)
			return { warnings, outbox: new Outbox({ store, onWarning, ...options }) }
		}
		const insertOrder = ({ run }: OpenTransaction) => run(`insert into orders values (${++ids}, 1)`)
		const count = async (table: string) =>
			Number(Object((await admin.query(`select count(*) from ${table}`)).rows[0]).count)
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
				// The only connection of a database in the process belongs to the transaction.
				if (!orm.isInProcess) expect(await count('yaoki.outbox')).toBe(0)
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

		test.each([
			['commit', 'after a change'],
			['commit', 'as the first write'],
			['rollback', 'after a change'],
			['rollback', 'as the first write'],
		])(
			'a message whose enqueue is not awaited is never written outside the transaction: %s, %s',
			async (end, place) => {
				const { outbox } = outboxWith()
				const pending: Promise<unknown>[] = []
				const transaction = database.transaction(async (open) => {
					if (place === 'after a change') await insertOrder(open)
					pending.push(outbox.enqueue(MESSAGE, { tx: open.tx() }).catch((error: unknown) => error))
					if (end === 'rollback') throw ROLLBACK
				})
				await transaction.catch(() => {})
				const [result] = orm.dropsLateQueries ? [] : await Promise.all(pending)
				const written = await count('yaoki.outbox')
				const mayBeWritten = end === 'commit' && !(result instanceof Error)
				if (orm.dropsLateQueries) expect(written).toBeLessThanOrEqual(mayBeWritten ? 1 : 0)
				else expect(written).toBe(mayBeWritten ? 1 : 0)
			},
		)

		test('the own object of the ORM is rejected, and the error names the function', async () => {
			const { outbox } = outboxWith()
			const engine = engineWith()
			const key = `own-${orm.name}`
			const inTransaction = (use: (tx: never) => Promise<unknown>) =>
				failure(database.transaction(({ own }) => use(own as never)))
			const effect = () => expect.unreachable('the function of a message ran')
			const errors = [
				await failure(
					engine.run(
						key,
						1,
						(context) => database.transaction(({ own }) => context.complete(1, { tx: own as never })),
						CALLER,
					),
				),
			]
			if (orm.ownIsClient !== true) {
				errors.push(await inTransaction((tx) => outbox.enqueue(MESSAGE, { tx })))
				errors.push(await inTransaction((tx) => inbox.once(key, { tx }, effect)))
			}
			for (const error of errors)
				expect(error).toMatchObject({ message: expect.stringContaining(`${orm.function}(`) })
			expect([await count('yaoki.outbox'), await count('yaoki.inbox')]).toEqual([0, 0])
			await engine.close()
		})

		test('what has no transaction is rejected immediately', () => {
			expect(orm.misuses.length).toBeGreaterThan(0)
			for (const misuse of orm.misuses)
				expect(() => misuse(database)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT' }))
		})

		test('a transaction of another database, without the tables, is a clear error', async () => {
			const { outbox } = outboxWith()
			const engine = engineWith()
			const other = await openOther()
			const elsewhere = (use: (tx: Queryable) => Promise<unknown>) =>
				failure(other.transaction((open) => use(open.tx())))
			expect(await elsewhere((tx) => outbox.enqueue(MESSAGE, { tx }))).toMatchObject({
				code: 'YAOKI_OUTBOX_SCHEMA',
				found: 0,
			})
			expect(await elsewhere((tx) => inbox.once('foreign', { tx }, () => {}))).toMatchObject({
				code: 'YAOKI_INBOX_SCHEMA',
				found: 0,
			})
			const completed = engine.run(
				`foreign-${orm.name}`,
				1,
				(context) => other.transaction((open) => context.complete(1, { tx: open.tx() })),
				CALLER,
			)
			expect(await failure(completed)).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_SCHEMA', found: 0 })
			await engine.close()
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

		test('an inbox in SQLite rejects the transaction and names both databases', async () => {
			const inSqlite = new Inbox({ store: sqliteInboxStore(temporaryFile()), purgeEveryMs: 0 })
			await inSqlite.migrate()
			const once = database.transaction((open) => inSqlite.once('a', { tx: open.tx() }, () => {}))
			const error = await failure(once)
			expect(error).toMatchObject({ code: 'YAOKI_INBOX_TRANSACTION', reason: 'wrong-database' })
			expect(String(error)).toMatch(/the store sqlite: .*got a transaction of .* on PostgreSQL/)
			await inSqlite.close()
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
			const processed = readOnly((open) =>
				inbox.once('read-only', { tx: open.tx() }, () => insertOrder(open)),
			)
			expect(String(await failure(processed))).toMatch(
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

		test('a savepoint that is rolled back takes message and mark with it', async () => {
			const { outbox } = outboxWith()
			await database.transaction(async (open) => {
				await insertOrder(open)
				await open.run('savepoint a')
				await outbox.enqueue(MESSAGE, { tx: open.tx() })
				await inbox.once('m1', { tx: open.tx() }, () => insertOrder(open))
				await open.run('rollback to savepoint a')
				await outbox.enqueue(MESSAGE, { tx: open.tx() })
			})
			expect([await count('orders'), await count('yaoki.inbox'), await count('yaoki.outbox')]).toEqual([
				1, 0, 1,
			])
		})

		test('a transaction within a transaction is a transaction: its rollback takes message and mark with it', async () => {
			const { outbox } = outboxWith({ outsideTransaction: 'reject' })
			await database.transaction(async (open) => {
				const { nested } = open
				if (nested === undefined) return
				await insertOrder(open)
				const rolledBack = nested(async (inner) => {
					await outbox.enqueue(MESSAGE, { tx: inner.tx() })
					await inbox.once('m1', { tx: inner.tx() }, () => insertOrder(inner))
					throw ROLLBACK
				})
				expect(await failure(rolledBack)).toBe(ROLLBACK)
				await nested((inner) => outbox.enqueue(MESSAGE, { tx: inner.tx() }))
				const failing = inbox.once('m2', { tx: open.tx() }, () =>
					nested(async (inner) => {
						await inner.run('select 1 / 0')
					}),
				)
				expect(await failure(failing)).toBeInstanceOf(Error)
				await outbox.enqueue(MESSAGE, { tx: open.tx() })
			})
			const isSupported = (await count('orders')) === 1
			expect([await count('yaoki.inbox'), await count('yaoki.outbox')]).toEqual(isSupported ? [0, 2] : [0, 0])
		})

		describe.each(['wait', 'reject'] as const)('an inbox with onConflict %s', (onConflict) => {
			let inbox: Inbox
			beforeAll(() => {
				inbox = new Inbox({ store: marks, onConflict, purgeEveryMs: 0 })
			})

			const receive = (messageId: string, afterwards: () => void = () => {}) =>
				database.transaction(async (open) => {
					const result = await inbox.once(messageId, { tx: open.tx() }, async () => {
						await insertOrder(open)
						return 'placed'
					})
					afterwards()
					return result
				})

			test('the effect of a message and its mark are committed together, and a second delivery has none', async () => {
				expect(await receive('m1')).toEqual({ isDuplicate: false, value: 'placed' })
				expect(await receive('m1')).toEqual({ isDuplicate: true })
				expect([await count('orders'), await count('yaoki.inbox')]).toEqual([1, 1])
			})

			test('a rollback leaves neither the effect of a message nor its mark, and the next delivery has its effect', async () => {
				const rollBack = () => {
					throw ROLLBACK
				}
				expect(await failure(receive('m1', rollBack))).toBe(ROLLBACK)
				expect([await count('orders'), await count('yaoki.inbox')]).toEqual([0, 0])
				expect(await receive('m1')).toEqual({ isDuplicate: false, value: 'placed' })
			})

			test('a function that hides the error of a statement is an error, because its COMMIT would roll back', async () => {
				const hiding = database.transaction((open) =>
					inbox.once('m1', { tx: open.tx() }, async () => {
						await failure(Promise.resolve(open.run('select 1 / 0')))
					}),
				)
				expect(await failure(hiding)).toMatchObject({ code: 'YAOKI_INBOX_TRANSACTION', reason: 'failed' })
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test('a message whose function failed has no mark, even if its transaction is committed', async () => {
				await database.transaction(async (open) => {
					await insertOrder(open)
					const once = inbox.once('m1', { tx: open.tx() }, () => Promise.reject(ROLLBACK))
					expect(await failure(once)).toBe(ROLLBACK)
				})
				expect([await count('orders'), await count('yaoki.inbox')]).toEqual([1, 0])
			})

			test.each(['commit', 'rollback'])('after a %s a message is not processed', async (end) => {
				let ended: OpenTransaction | undefined
				const used = await database
					.transaction(async (open) => {
						ended = open
						await insertOrder(open)
						if (end === 'rollback') throw ROLLBACK
						return open.tx()
					})
					.catch(() => undefined)
				const effect = () => expect.unreachable('the function of a message ran')
				for (const tx of [() => used ?? ended?.tx(), () => ended?.tx()]) {
					const error = await failure(
						Promise.resolve().then(() => inbox.once('m1', { tx: tx() as never }, effect)),
					)
					expect(error).toMatchObject({
						code: expect.stringMatching(/^YAOKI_(INBOX_TRANSACTION|INVALID_ARGUMENT)$/),
					})
				}
				expect(await count('yaoki.inbox')).toBe(0)
			})

			test.each([
				['commit', 'after a change'],
				['commit', 'as the first write'],
				['rollback', 'after a change'],
				['rollback', 'as the first write'],
			])('a message that is not awaited leaves no mark without its effect: %s, %s', async (end, place) => {
				const pending: Promise<unknown>[] = []
				const transaction = database.transaction(async (open) => {
					if (place === 'after a change') await open.run('insert into samples values (1)')
					const once = inbox.once('m1', { tx: open.tx() }, () => insertOrder(open))
					pending.push(once.catch((error: unknown) => error))
					if (end === 'rollback') throw ROLLBACK
				})
				await transaction.catch(() => {})
				if (!orm.dropsLateQueries) await Promise.all(pending)
				const [effects, marks] = [await count('orders'), await count('yaoki.inbox')]
				expect(marks).toBeLessThanOrEqual(effects)
				if (end === 'rollback') expect(marks).toBe(0)
			})

			test('a message whose transaction is committed while its function runs leaves no mark without its effect', async () => {
				const started = Promise.withResolvers<void>()
				const { promise: isCommitted, resolve: committed } = Promise.withResolvers<void>()
				const pending: Promise<unknown>[] = []
				await database.transaction(async (open) => {
					const once = inbox.once('m1', { tx: open.tx() }, async () => {
						started.resolve()
						await isCommitted
						await insertOrder(open)
					})
					pending.push(once.catch((error: unknown) => error))
					await started.promise
				})
				committed()
				await Promise.all(pending)
				expect(await count('yaoki.inbox')).toBeLessThanOrEqual(await count('orders'))
			})
		})

		test('a text with a repeated parameter, question marks, bytes, JSON and large numbers runs as it is', async () => {
			await admin.query('insert into samples values (1), (2)')
			const bytes = new Uint8Array([0, 1, 63, 255])
			await database.transaction(async (open) => {
				const { query } = Object(open.tx())
				const text = `update samples set bytes = $1::bytea, big = $2::bigint, doc = $3::text::jsonb,
					texts = $4::text || '?' || $4::text where id = $5 and not $3::text::jsonb ? 'b' returning texts, '?' as mark`
				const result = await query.call(open.tx(), text, [bytes, '9007199254740993', '{"a":[1]}', 'x$1?y', 1])
				expect(Array.from(result.rows ?? result)).toEqual([{ texts: 'x$1?y?x$1?y', mark: '?' }])
			})
			const { rows } = await admin.query(
				"select encode(bytes, 'hex') as bytes, big::text, doc, texts from samples where id = 1",
			)
			expect(rows).toEqual([
				{ bytes: '00013fff', big: '9007199254740993', doc: { a: [1] }, texts: 'x$1?y?x$1?y' },
			])
		})
	})
}
