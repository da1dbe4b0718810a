/** Groups of dead letters, of which there may be a million. */
import { expect, test } from 'vitest'
import { postgresPool } from '../../../support/postgres-pool.ts'
import { openOnPool } from './opened.ts'

const postgres = postgresPool()

/** Writes dead letters with `groups` different errors, of which the first has `first` dead letters and the others one. */
async function opened(groups: number, first: number) {
	const under = await openOnPool(postgres.pool, 'fresh')
	await under.store.migrate()
	await postgres.pool.query(`
		insert into ${under.schema}.outbox_dead (id, seq, destination, topic, payload, error_type, error_fingerprint, died_at, cause)
		select gen_random_uuid(), n, 'billing', 't', '{}', 'Error', case when n < ${first} then null else 'error ' || n end, 1000 + n, 'permanent'
		from generate_series(0, ${first + groups - 2}) n`)
	return under
}

test('counts a group up to 10,000 and says so, with its first and last time', async () => {
	const under = await opened(3, 10_002)
	const [largest, ...others] = await under.store.deadGroups({ destination: 'billing' }, 10)
	expect(largest).toMatchObject({
		fingerprint: '',
		count: 10_000,
		isCapped: true,
		firstAt: 1_000,
		lastAt: 11_001,
	})
	expect(others).toMatchObject([
		{ fingerprint: 'error 10002', count: 1, isCapped: false, errorType: 'Error' },
		{ fingerprint: 'error 10003', count: 1, isCapped: false },
	])
	// A time is a part of the same index.
	expect(await under.store.deadGroups({ since: 10_500, until: 11_001 }, 10)).toMatchObject([
		{ fingerprint: '', count: 501, isCapped: false, firstAt: 10_500, lastAt: 11_000 },
	])
	expect(await under.store.deadGroups({ fingerprint: 'error 10003', cause: 'permanent' }, 10)).toMatchObject([
		{ fingerprint: 'error 10003', count: 1 },
	])
	for (const filter of [{ destination: 'mail' }, { cause: 'expired' }, { status: 'sent' }] as const)
		expect(await under.store.deadGroups(filter, 10)).toEqual([])
	await under.close()
})

test('finds the largest group among more groups than are found one by one', async () => {
	const under = await opened(5_002, 10_002)
	const groups = await under.store.deadGroups({}, 6_000)
	expect(groups).toHaveLength(5_002)
	expect(groups[0]).toMatchObject({ count: 10_002, isCapped: false, firstAt: 1_000, lastAt: 11_001 })
	expect(await under.store.deadGroups({ destination: 'billing' }, 2)).toEqual(groups.slice(0, 2))
	await under.close()
})
