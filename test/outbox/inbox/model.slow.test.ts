/**
 * Random deliveries of few messages over several connections, of which some fail, are rolled back or lose their
 * connection: each message that was acked has its effect exactly once, and no other message has one.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Inbox } from 'yaoki/outbox'
import { eventuallyTrue } from '../../support/eventually.ts'
import { openPostgres, type PostgresInboxDatabase } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import { type InboxDatabase, openInbox } from './suite.ts'

type Ending = 'commit' | 'throw' | 'throw and commit' | 'rollback' | 'lose connection'

interface Delivery {
	readonly id: string
	readonly ending: Ending
	/** How many statements the function runs before its effect. */
	readonly statements: number
}

const deliveries = (endings: readonly Ending[]) =>
	fc.array(
		fc.record<Delivery>({
			id: fc.constantFrom('a', 'b', 'c'),
			ending: fc.constantFrom(...endings),
			statements: fc.integer({ min: 0, max: 3 }),
		}),
		{ minLength: 2, maxLength: 10 },
	)

/** Returns true if the receiver would ack the message. */
async function deliver(database: PostgresInboxDatabase, inbox: Inbox, delivery: Delivery): Promise<boolean> {
	const { id, ending, statements } = delivery
	const tx = await database.pool.connect()
	const effect = async () => {
		for (let at = 0; at < statements; at++) await tx.query('select 1')
		await tx.query('insert into effects values ($1)', [id])
		if (ending.startsWith('throw')) {
			// A savepoint would do the same: the caller takes back its effect and commits.
			await tx.query('delete from effects where id = $1', [id])
			throw new Error(ending)
		}
	}
	try {
		await tx.query('begin')
		await inbox.once(id, { tx }, effect)
		if (ending === 'lose connection') {
			await database.pool.query('select pg_terminate_backend($1)', [Reflect.get(tx, 'processID')])
			return false
		}
		await tx.query(ending === 'rollback' ? 'rollback' : 'commit')
		return ending !== 'rollback'
	} catch {
		await tx.query(ending === 'throw and commit' ? 'commit' : 'rollback').catch(() => {})
		return false
	} finally {
		tx.release(ending === 'lose connection')
	}
}

test.each(['wait', 'reject'] as const)(
	'on PostgreSQL, concurrently, with onConflict %s',
	async (onConflict) => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database, { onConflict })
		const endings = ['commit', 'commit', 'throw', 'throw and commit', 'rollback', 'lose connection'] as const
		await fc.assert(
			fc.asyncProperty(deliveries(endings), async (all) => {
				await database.pool.query('truncate effects, yaoki.inbox')
				const acked = await Promise.all(all.map((delivery) => deliver(database, inbox, delivery)))
				const expected = new Set(all.filter((_, at) => acked[at]).map(({ id }) => id))
				expect(await database.effects()).toEqual([...expected].sort())
				// What was not acked is repeated, and then each message has its effect.
				for (const { id } of all)
					await eventuallyTrue(() => deliver(database, inbox, { id, ending: 'commit', statements: 0 }))
				expect(await database.effects()).toEqual([...new Set(all.map(({ id }) => id))].sort())
			}),
			{ numRuns: 30 },
		)
	},
)

test('on SQLite, one after the other', async () => {
	const database: InboxDatabase = await openSqlite()
	const { inbox } = await openInbox(database)
	let round = 0
	await fc.assert(
		fc.asyncProperty(deliveries(['commit', 'throw', 'throw and commit', 'rollback']), async (all) => {
			const prefix = `${round++} `
			const acked = new Set<string>()
			for (const { id, ending } of all) {
				const user = await database.connect()
				await user.run('BEGIN IMMEDIATE')
				const processing = inbox.once(prefix + id, { tx: user.tx }, async () => {
					if (ending.startsWith('throw')) throw new Error(ending)
					await user.addEffect(prefix + id)
				})
				const isProcessed = await processing.then(
					() => true,
					() => false,
				)
				const commits = ending === 'throw and commit' || (isProcessed && ending === 'commit')
				await user.run(commits ? 'COMMIT' : 'ROLLBACK')
				if (isProcessed && commits) acked.add(prefix + id)
			}
			const effects = (await database.effects()).filter((id) => id.startsWith(prefix))
			const tried = [...new Set(all.map(({ id }) => prefix + id))].sort()
			expect(effects).toEqual(tried.filter((id) => acked.has(id)))
		}),
		{ numRuns: 50 },
	)
})
