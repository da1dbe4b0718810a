/** What people search for is found by an index, also if few messages match, or those that match are the last ones. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { StoreFilter } from '../../../../src/outbox/store/store.ts'
import { nodesOf, type PlanNode, rowsRead } from './explained.ts'
import { setup } from './setup.ts'

const postgres = setup()

const MESSAGES = 20_000
const LIMIT = 10

/** The last hundredth of each table has another destination, key and cause. */
const LATE = `i > ${MESSAGES * 0.99}`

async function fill(): Promise<void> {
	const columns = `gen_random_uuid(), case when ${LATE} then 'late' else 'd' || i % 20 end, 't',
		case when ${LATE} then 'late' else 'k' || i % 100 end, '{}', i, i`
	const from = `from generate_series(1, ${MESSAGES}) i`
	const names = 'id, destination, topic, key, payload, created_at, seq'
	for (const [table, more, values] of [
		['outbox', 'due_at', 'i'],
		['outbox_dead', 'died_at, cause', `i, case when ${LATE} then 'crashed' else 'permanent' end`],
		['outbox_history', 'ended_at', 'i'],
	]) {
		const whole = `${postgres.schema}.${table}`
		await postgres.pool.query(`insert into ${whole} (${names}, ${more}) select ${columns}, ${values} ${from}`)
		await postgres.pool.query(`vacuum analyze ${whole}`)
	}
}

type Statement = readonly [text: string, values: unknown[] | undefined]

/** Records the statements that are sent through the pool. */
function recordQueries(pool: pg.Pool): Statement[] {
	const statements: Statement[] = []
	const query = pool.query.bind(pool)
	Object.assign(pool, {
		query(given: string | { readonly text: string; readonly values?: unknown[] }, values?: unknown[]) {
			statements.push(typeof given === 'string' ? [given, values] : [given.text, given.values])
			return Reflect.apply(query, pool, [given, values])
		},
	})
	return statements
}

const searches: readonly (readonly [filter: StoreFilter, found: number])[] = [
	[{}, LIMIT],
	[{ status: 'dead' }, LIMIT],
	[{ status: 'sent' }, LIMIT],
	...(['pending', 'dead', 'sent'] as const).flatMap(
		(status) =>
			[
				[{ status, destination: 'late' }, LIMIT],
				[{ status, destination: 'none' }, 0],
				[{ status, key: 'none' }, 0],
				[{ status, key: 'late', destination: 'late' }, LIMIT],
				[{ status, since: MESSAGES - 5 }, 6],
				[{ status, destination: 'late', since: MESSAGES - 5 }, 6],
			] as const,
	),
	[{ status: 'dead', key: 'late' }, LIMIT],
	[{ status: 'sent', key: 'late' }, LIMIT],
	[{ cause: 'crashed' }, LIMIT],
	[{ cause: 'expired' }, 0],
	[{ cause: 'crashed', since: MESSAGES - 5 }, 6],
]

test('a search reads only what it returns', async () => {
	await fill()
	const pool = postgres.anotherPool({ max: 1 })
	const statements = recordQueries(pool)
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	for (const [filter, count] of searches) {
		const name = JSON.stringify(filter)
		expect(await store.list(filter, LIMIT), name).toHaveLength(count)
		const [text, values = []] = statements.at(-1) ?? ['']
		const { rows } = await postgres.pool.query(`explain (analyze, timing off, format json) ${text}`, values)
		const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan
		const scans = [...nodesOf(plan)].filter((node) => node['Relation Name'] !== undefined)
		expect(
			scans.map((node) => node['Node Type']),
			name,
		).not.toContain('Seq Scan')
		for (const scan of scans) expect(rowsRead(scan), name).toBeLessThanOrEqual(LIMIT * 20)
	}
})
