import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fetchIdempotency, IdempotencyLeaseLostError, idempotency } from 'yaoki/idempotency'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { type OpenedSqlite, openSqlite } from '../open-sqlite.ts'
import { LEASE_MS, RESPONSE, RETENTION_MS, request } from '../requests.ts'

const ref = { id: 'k', token: 't' }

describe.each([
	['a file', () => temporaryFile()],
	['memory', () => ':memory:'],
])('in %s', (_, newFile) => {
	const opened = async (): Promise<OpenedSqlite<DatabaseSync>> => {
		const store = await openSqlite(newFile())
		onTestFinished(() => store.close())
		return store
	}

	/** Opens a transaction that inserts an order and completes the key. It ends when `end` is called. */
	async function openTransaction({ store, userTable }: OpenedSqlite<DatabaseSync>) {
		await store.claim(request('k', 't'))
		const end = Promise.withResolvers<void>()
		const isOpen = Promise.withResolvers<void>()
		const ended = store.transaction(async (tx, complete) => {
			await userTable.insert(tx)
			expect(await complete(ref, RESPONSE, RETENTION_MS)).toBe(true)
			isOpen.resolve()
			await end.promise
		})
		await isOpen.promise
		return { ended, end }
	}

	test('a heartbeat and a claim wait for an open transaction and are not part of it', async () => {
		const here = await opened()
		const { ended, end } = await openTransaction(here)
		const heartbeat = here.store.heartbeat(ref, LEASE_MS)
		const other = here.store.claim(request('other', 't2'))
		end.reject(new Error('rolled back'))
		await expect(ended).rejects.toThrow('rolled back')
		expect(await heartbeat).toBe(true)
		expect(await other).toEqual({ kind: 'claimed', steps: {} })
		expect(await here.store.find('other')).toMatchObject({ state: 'running' })
		expect(await here.store.find('k')).toMatchObject({ state: 'running' })
		expect(await here.userTable.count()).toBe(0)
	})

	test('no request sees a response that is not committed', async () => {
		const here = await opened()
		const { ended, end } = await openTransaction(here)
		const repeated = Promise.resolve(here.store.claim(request('k', 't2')))
		const kinds: unknown[] = []
		void repeated.then(({ kind }) => kinds.push(kind))
		for (let turn = 0; turn < 20; turn++) await Promise.resolve()
		expect(kinds).not.toContain('completed')
		end.resolve()
		await ended
		expect(['running', 'completed']).toContain((await repeated).kind)
		expect(await here.store.claim(request('k', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
		expect(await here.userTable.count()).toBe(1)
	})

	test('transactions run one after the other, and a store that is closed waits for them', async () => {
		const here = await openSqlite(newFile())
		const order: string[] = []
		const transactions = ['a', 'b'].map((name) =>
			here.store.transaction(async (tx) => {
				order.push(`${name} begins`)
				await here.userTable.insert(tx)
				order.push(`${name} ends`)
			}),
		)
		await here.close()
		expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
		await Promise.all(transactions)
	})

	test('context.transaction rolls back if another request has taken over the key', async () => {
		const here = await opened()
		const engine = idempotency({ name: 'shop', store: here.store, principal: () => 'p' })
		let isLost = false
		const handle = fetchIdempotency(engine, async (_request, context) => {
			if (isLost) {
				here.advance(LEASE_MS + 1)
				const next = await post()
				expect(next.status).toBe(201)
			}
			return context.transaction(async (tx) => {
				await here.userTable.insert(tx)
				return new Response('made', { status: 201 })
			})
		})
		const post = () => {
			isLost = !isLost
			const headers = { 'idempotency-key': 'k1' }
			return handle(new Request('http://localhost/orders', { method: 'POST', body: '{}', headers }))
		}
		await expect(post()).rejects.toThrow(IdempotencyLeaseLostError)
		expect(await here.userTable.count()).toBe(1)
		expect((await post()).headers.get('idempotency-replayed')).toBe('true')
	})

	test('a statement that fails rolls back everything', async () => {
		const here = await opened()
		const ran = here.store.transaction(async (tx) => {
			await here.userTable.insert(tx)
			tx.exec('INSERT INTO no_such_table VALUES (1)')
		})
		await expect(ran).rejects.toThrow('no such table')
		expect(await here.userTable.count()).toBe(0)
	})
})

test('a file: replays do not wait for an open transaction', async () => {
	const { store, close } = await openSqlite()
	onTestFinished(close)
	await store.claim(request('done', 't'))
	await store.complete({ id: 'done', token: 't' }, RESPONSE, RETENTION_MS)
	await store.transaction(async (tx) => {
		tx.exec("INSERT INTO orders VALUES ('a')")
		expect(await store.claim(request('done', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
	})
})

test('a file: a transaction waits for another process that writes', async () => {
	const here = await openSqlite()
	onTestFinished(() => here.close())
	const other = await here.another?.()
	const isOpen = Promise.withResolvers<void>()
	const end = Promise.withResolvers<void>()
	const first = other?.transaction?.(async (tx) => {
		await here.userTable.insert(tx)
		isOpen.resolve()
		await end.promise
	})
	await isOpen.promise
	const second = here.store.transaction(async (tx) => here.userTable.insert(tx))
	end.resolve()
	await Promise.all([first, second])
	expect(await here.userTable.count()).toBe(2)
	await other?.close?.()
})
