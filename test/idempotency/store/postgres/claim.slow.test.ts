import { describe, expect, test, vi } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { LEASE_MS, RESPONSE, RETENTION_MS, request } from '../requests.ts'
import { setupPostgres } from './setup.ts'

const database = setupPostgres()

describe('concurrent claims', () => {
	test('one of 200 on two pools is claimed, and the others find it running', async () => {
		const other = database.another()
		for (let round = 0; round < 5; round++) {
			const stores = [database.store, other.store]
			const results = await Promise.all(
				Array.from({ length: 200 }, (_, at) => stores[at % 2]?.claim(request(`k${round}`, `t${at}`))),
			)
			expect(results.filter((result) => result?.kind === 'claimed')).toHaveLength(1)
			expect(results.filter((result) => result?.kind === 'running')).toHaveLength(199)
		}
	})

	test('one of many takes over an abandoned key', async () => {
		await database.store.claim(request('k', 'dead'))
		database.advance(LEASE_MS + 1)
		const results = await Promise.all(
			Array.from({ length: 50 }, (_, at) => database.store.claim(request('k', `t${at}`))),
		)
		expect(results.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
		expect(results.filter(({ kind }) => kind === 'running')).toHaveLength(49)
	})

	test.each(['repeatable read', 'serializable'])(
		'of one key succeed once at the default isolation level %s',
		async (level) => {
			const { store } = database.another({
				options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`,
			})
			const results = await Promise.all(
				Array.from({ length: 20 }, (_, at) => store.claim(request('k', `t${at}`))),
			)
			expect(results.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
		},
	)

	test('a key that is claimed and released at the same time goes to one request after the other', async () => {
		let running = 0
		const handle = async (token: string) => {
			for (;;) {
				const { kind } = await database.store.claim(request('k', token))
				if (kind !== 'claimed') continue
				expect(++running).toBe(1)
				await database.store.saveStep({ id: 'k', token }, token, '1')
				running--
				expect(await database.store.release({ id: 'k', token })).toBe(true)
				return
			}
		}
		await Promise.all(['a', 'b', 'c', 'd'].map(handle))
		expect((await database.store.find('k'))?.steps).toHaveLength(4)
	})
})

describe('a replay', () => {
	const completed = async () => {
		await database.store.claim(request('k', 't'))
		expect(await database.store.complete({ id: 'k', token: 't' }, RESPONSE, RETENTION_MS)).toBe(true)
	}
	const position = async () =>
		(
			await database.pool.query(
				`select ctid::text, xmin::text, xmax::text from ${database.schema}.idempotency_keys`,
			)
		).rows

	test('writes nothing: the row has the same version, and the transaction no number', async () => {
		await completed()
		const before = await position()
		const { pool, store } = database.another({ max: 1 })
		const client = await pool.connect()
		await client.query('begin')
		client.release()
		// The pool has one connection, so the store's statement is part of the transaction.
		expect(await store.claim(request('k', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
		const { rows } = await pool.query('select pg_current_xact_id_if_assigned() as number')
		expect(rows).toEqual([{ number: null }])
		await pool.query('commit')
		expect(await position()).toEqual(before)
	})

	test('returns the body as bytes, and nothing of it to a request with another content', async () => {
		await completed()
		const result = await database.store.claim(request('k', 't2'))
		if (result.kind !== 'completed') throw new Error(result.kind)
		expect(result.response.body).toBeInstanceOf(Uint8Array)
		expect(new Uint8Array(result.response.body)).toEqual(RESPONSE.body)
		expect(await database.store.claim(request('k', 't2', { fingerprint: 'other' }))).toEqual({
			kind: 'mismatch',
		})
	})

	test('sends one statement, as does each other operation', async () => {
		const { pool, store } = database.another()
		const query = vi.spyOn(pool, 'query')
		const ref = { id: 'k', token: 't' }
		const operations = [
			() => store.claim(request('k', 't')),
			() => store.heartbeat(ref, LEASE_MS),
			() => store.saveStep(ref, 's', '1'),
			() => store.complete(ref, RESPONSE, RETENTION_MS),
			() => store.claim(request('k', 't2')),
			() => store.find('k'),
			() => store.release(ref),
			() => store.resolve('k', RESPONSE, RETENTION_MS),
		]
		for (const operation of operations) {
			query.mockClear()
			await operation()
			expect(query).toHaveBeenCalledTimes(1)
			expect(query.mock.calls[0]?.[0]).toMatchObject({ name: expect.stringMatching(/^yaoki_/) })
		}
	})
})

describe('a claim that meets an open transaction which completes the key', () => {
	/** The claim's lease has ended, so that another request may take it over, and its transaction has not been committed. */
	async function meet(end: 'commit' | 'rollback') {
		await database.store.claim(request('k', 't'))
		database.advance(LEASE_MS + 1)
		let finish = () => {}
		const finished = new Promise<void>((resolve, reject) => {
			finish = end === 'commit' ? resolve : () => reject(new Error('rolled back'))
		})
		const isComplete = Promise.withResolvers<boolean>()
		const transaction = database.store
			.transaction(async (_, complete) => {
				isComplete.resolve(await complete({ id: 'k', token: 't' }, RESPONSE, RETENTION_MS))
				await finished
			})
			.catch((error: Error) => error.message)
		expect(await isComplete.promise).toBe(true)
		const claim = database.another().store.claim(request('k', 't2'))
		const waiting =
			"select from pg_stat_activity where wait_event_type = 'Lock' and query like '%idempotency_keys%'"
		await eventually(async () => expect((await database.pool.query(waiting)).rows).toHaveLength(1))
		finish()
		return { claim: await claim, transaction: await transaction }
	}

	test('waits, and gets the response after a commit', async () => {
		expect(await meet('commit')).toEqual({
			claim: { kind: 'completed', response: RESPONSE },
			transaction: undefined,
		})
	})

	test('waits, and takes the key over after a rollback', async () => {
		expect(await meet('rollback')).toEqual({
			claim: { kind: 'claimed', steps: {} },
			transaction: 'rolled back',
		})
	})
})

test('prepare: false sends statements without a name', async () => {
	const { pool, store } = database.another({}, false)
	const query = vi.spyOn(pool, 'query')
	expect(await store.claim(request('k', 't'))).toEqual({ kind: 'claimed', steps: {} })
	expect(await store.complete({ id: 'k', token: 't' }, RESPONSE, RETENTION_MS)).toBe(true)
	expect(await store.claim(request('k', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
	expect(query.mock.calls.map(([text]) => typeof text)).toEqual(['string', 'string', 'string'])
})
