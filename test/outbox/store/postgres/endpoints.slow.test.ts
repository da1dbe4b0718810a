/** What is read when there are many endpoints and events. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { required } from '../../../../src/outbox/testing/harness/assertions.ts'
import { nodesOf, type PlanNode, recordStatements, rowsRead } from './explained.ts'
import { setup } from './setup.ts'

const postgres = setup()

const COUNT = 10_000
const MATCHES = 100

/** Endpoints of one tenant, of which a hundred get a topic, and endpoints of as many tenants that get everything. */
async function addEndpoints(): Promise<void> {
	const { pool, schema } = postgres
	await pool.query(
		`insert into ${schema}.webhook_subscriptions (tenant, topic, endpoint_id)
		select 'acme', 'topic.' || i % $2::int, gen_random_uuid() from generate_series(1, $1::int) i`,
		[COUNT, COUNT / MATCHES],
	)
	await pool.query(
		`insert into ${schema}.webhook_subscriptions (tenant, topic, endpoint_id)
		select 'tenant ' || i, '*', gen_random_uuid() from generate_series(1, $1::int) i`,
		[COUNT],
	)
}

interface Sent {
	readonly text: string
	readonly values: unknown[]
}

/** A store whose latest statement can be explained, with the plan of its values and with the one of all values. */
function explainedStore() {
	const pool = postgres.anotherPool({ max: 1 })
	let latest: Sent = { text: '', values: [] }
	const send = pool.query.bind(pool)
	const query = (given: string | Sent, values: unknown[] = []) => {
		if (typeof given === 'string') return Reflect.apply(send, pool, [given, values])
		latest = given
		return Reflect.apply(send, pool, [given])
	}
	Object.assign(pool, { query })
	return {
		store: postgresOutboxStore({ client: pool, schema: postgres.schema }),
		async explain(mode: 'force_custom_plan' | 'force_generic_plan'): Promise<PlanNode> {
			const client = await pool.connect()
			try {
				await client.query(`set plan_cache_mode = ${mode}`)
				const text = `explain (format json, analyze, buffers, timing off) ${latest.text}`
				const { rows }: pg.QueryResult = await client.query({ text, values: latest.values })
				return rows[0]['QUERY PLAN'][0].Plan
			} finally {
				client.release()
			}
		},
	}
}

const indexesOf = (plan: PlanNode): string[] =>
	[...nodesOf(plan)].flatMap((node) =>
		node['Relation Name'] ? [node['Index Name'] ?? node['Node Type']] : (node['Index Name'] ?? []),
	)

const readBy = (plan: PlanNode): number =>
	[...nodesOf(plan)].reduce((sum, node) => Math.max(sum, rowsRead(node)), 0)

for (const isAnalyzed of [false, true]) {
	const how = isAnalyzed ? 'with statistics' : 'without statistics'

	test(`an event finds its endpoints in one index and reads no others, ${how}`, async () => {
		const { store, explain } = explainedStore()
		await addEndpoints()
		if (isAnalyzed) await postgres.pool.query(`vacuum analyze ${postgres.schema}.webhook_subscriptions`)
		for (const [tenant, matches] of [
			['acme', MATCHES],
			['tenant 7', 1],
			['unknown', 0],
		] as const) {
			const ids = await store.endpoints?.matching(tenant, ['topic.7', 'topic.*', '*'])
			expect(ids).toHaveLength(matches)
			for (const mode of ['force_custom_plan', 'force_generic_plan'] as const) {
				const plan = await explain(mode)
				expect(new Set(indexesOf(plan)), tenant).toEqual(new Set(['webhook_subscriptions_pkey']))
				expect(readBy(plan), tenant).toBeLessThanOrEqual(matches + 1)
			}
		}
	})
}

test('a page of events is read in the order of the index, from its start', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const recorder = await recordStatements(pool)
	const { endpoints } = postgresOutboxStore({ client: pool, schema: postgres.schema })
	await pool.query(
		`insert into ${postgres.schema}.webhook_events (id, created_at, expires_at, tenant, topic, payload)
		select ('01890a5d-ac96-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, i, i, 'acme', 'order.created', '{}'
		from generate_series(1, $1::int) i`,
		[COUNT],
	)
	const filter = { tenant: 'acme', topics: ['user.created', 'order.*'], since: COUNT / 2 }
	let after: string | undefined
	for (const start of [COUNT / 2, COUNT / 2 + MATCHES]) {
		const events = await endpoints?.events(filter, MATCHES, after)
		expect(events?.map(({ createdAt }) => createdAt)).toEqual(
			Array.from({ length: MATCHES }, (_, n) => start + n),
		)
		after = events?.at(-1)?.id
		const plan = await recorder.explain(recorder.latest, { isRun: true })
		expect(indexesOf(plan)).toEqual(['webhook_events_tenant'])
		expect(readBy(plan)).toBeLessThanOrEqual(MATCHES + 1)
	}
})

test('the documented privileges are enough to store events and to manage endpoints', async () => {
	const { pool, schema, anotherPool } = postgres
	const [sender, manager] = [`${schema}_sender`, `${schema}_manager`]
	await pool.query(`
		create role ${sender};
		grant usage on schema ${schema} to ${sender};
		grant select on ${schema}.webhook_subscriptions to ${sender};
		grant insert on ${schema}.webhook_events to ${sender};
		create role ${manager};
		grant usage on schema ${schema} to ${manager};
		grant select, insert, update, delete on ${schema}.webhook_endpoints, ${schema}.webhook_subscriptions to ${manager};
		grant insert on ${schema}.outbox_audit to ${manager};
	`)
	const storeOf = async (role: string) => {
		const client = anotherPool({ max: 1 })
		await client.query(`set role ${role}`)
		return required(postgresOutboxStore({ client, schema }).endpoints, 'the endpoints')
	}
	const operator = { by: 'ada', reason: null }
	const endpoint = { id: randomUUID(), tenant: '', url: 'https://example.com', topics: ['a'] }
	const event = { id: randomUUID(), tenant: '', topic: 'a', key: null, payload: '{}', headers: null }
	const managed = await storeOf(manager)
	await managed.insert({ ...endpoint, description: null, secrets: '' }, operator)
	await managed.change(endpoint.id, { action: 'change-endpoint', topics: ['a', 'b'] }, operator)
	const sent = await storeOf(sender)
	expect(await sent.matching('', ['b'])).toEqual([endpoint.id])
	await sent.insertEvent({ ...event, keepForMs: Infinity })
	expect(await managed.list({}, 10)).toHaveLength(1)
	expect(await managed.delete(endpoint.id, operator)).toBe(true)
	for (const role of [sender, manager]) await pool.query(`drop owned by ${role}; drop role ${role}`)
})
