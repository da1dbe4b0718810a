import { describe, expect, test } from 'vitest'
import type { PgPool } from '../../src/sql/clients.ts'
import { againIfLost, inPgTransaction } from '../../src/sql/pg-transaction.ts'
import { ignorePoolErrors, isWithoutConnection, onFreeConnection, type PoolWait } from '../../src/sql/pool.ts'
import { recordedServer, SqlError } from './recorded-server.ts'

const poolWith = (properties: object): PgPool => ({ ...recordedServer().pool, ...properties })

const FULL = { totalCount: 2, idleCount: 0, waitingCount: 0, options: { max: 2 } }
const GROWING = { ...FULL, totalCount: 1 }

const waiting = (isAbandoned = false): PoolWait => ({ isWaiting: false, isAbandoned })

describe('a pool', () => {
	test('is without a free connection if as many statements wait as connections are idle', () => {
		expect(isWithoutConnection(poolWith({ idleCount: 1, waitingCount: 0 }))).toBe(false)
		expect(isWithoutConnection(poolWith({ idleCount: 1, waitingCount: 1 }))).toBe(true)
		expect(isWithoutConnection(poolWith(FULL))).toBe(true)
		expect(isWithoutConnection(poolWith({}))).toBe(false)
	})

	test.each([
		['is full', FULL, true],
		['opens another connection', GROWING, false],
	])(
		'that %s: a statement waits for a bottleneck of the process: %o %s',
		async (_, properties, isWaiting) => {
			const server = recordedServer()
			const wait = waiting()
			const seen: boolean[] = []
			const connect: PgPool['connect'] = () => {
				seen.push(wait.isWaiting)
				return server.pool.connect()
			}
			const pool = { ...server.pool, ...properties, connect }
			await onFreeConnection(pool, wait, async () => void seen.push(wait.isWaiting))
			expect(seen).toEqual([isWaiting, false])
			expect(server.releases).toEqual([false])
		},
	)

	test('whose connection arrives too late runs nothing, and gets it back', async () => {
		const server = recordedServer()
		const run = async () => {
			throw new Error('the statement ran')
		}
		await expect(onFreeConnection(server.pool, waiting(true), run)).rejects.toThrow('waited too long')
		expect(server.releases).toEqual([false])
	})

	test('that times out is a bottleneck, and one that cannot connect is not', async () => {
		const wait = waiting()
		const failing = (message: string) =>
			poolWith({ ...FULL, connect: () => Promise.reject(new Error(message)) })
		const run = async () => 1
		const timeout = 'timeout exceeded when trying to connect'
		await expect(onFreeConnection(failing(timeout), wait, run)).rejects.toThrow(timeout)
		expect(wait.isWaiting).toBe(true)
		await expect(onFreeConnection(failing('ECONNREFUSED'), wait, run)).rejects.toThrow('ECONNREFUSED')
		expect(wait.isWaiting).toBe(false)
	})

	test('destroys the connection of a statement that failed', async () => {
		const server = recordedServer()
		const run = () => Promise.reject(new SqlError('23505'))
		await expect(onFreeConnection(server.pool, waiting(), run)).rejects.toMatchObject({ code: '23505' })
		expect(server.releases).toEqual([true])
	})

	test('gets its handlers once, however many stores use it', () => {
		const events: string[] = []
		const pool = poolWith({ on: (event: string) => void events.push(event) })
		for (let n = 0; n < 20; n++) ignorePoolErrors(pool)
		expect(events).toEqual(['error', 'connect'])
	})
})

describe('a transaction on a pool', () => {
	test('commits, returns the result and gives the connection back', async () => {
		const server = recordedServer()
		const result = await inPgTransaction(server.pool.connect(), 'begin', async (client) => {
			await client.query('select 1')
			return 'done'
		})
		expect(result).toBe('done')
		expect(server.texts).toEqual(['begin', 'select 1', 'commit'])
		expect(server.releases).toEqual([false])
		expect(server.handlers('error')).toBe(0)
	})

	test('is rolled back after an error, and its connection is kept', async () => {
		const server = recordedServer()
		const failing = () => Promise.reject(new Error('no'))
		await expect(inPgTransaction(server.pool.connect(), 'begin', failing)).rejects.toThrow('no')
		expect(server.texts).toEqual(['begin', 'rollback'])
		expect(server.releases).toEqual([false])
	})

	test('destroys a connection on which the rollback fails, or that emits an error', async () => {
		const server = recordedServer()
		server.onText = (text) => {
			if (text === 'rollback') throw new Error('read ECONNRESET')
		}
		const failing = () => Promise.reject(new Error('no'))
		await expect(inPgTransaction(server.pool.connect(), 'begin', failing)).rejects.toThrow('no')
		const losing = async () => server.emit('error', new Error('terminated'))
		await inPgTransaction(server.pool.connect(), 'begin', losing)
		expect(server.releases).toEqual([true, true])
	})

	test('rejects if the server answers a commit with a rollback', async () => {
		const server = recordedServer()
		const client = await server.pool.connect()
		const query = async (text: string) => ({ rows: [], command: text === 'commit' ? 'ROLLBACK' : '' })
		const connecting = Promise.resolve({ ...client, query } as unknown as typeof client)
		await expect(inPgTransaction(connecting, 'begin', async () => 1)).rejects.toMatchObject({
			code: 'YAOKI_TRANSACTION_ROLLED_BACK',
		})
	})
})

describe('againIfLost', () => {
	const runs = async (...outcomes: readonly (string | undefined)[]) => {
		let tries = 0
		const result = againIfLost(async () => {
			const code = outcomes[tries++]
			if (code !== undefined) throw new SqlError(code)
			return 'done'
		})
		return [await result.catch((error: SqlError) => error.code), tries]
	}

	test.each(['26000', '42P05'])('repeats once after %s', async (code) => {
		expect(await runs(code, undefined)).toEqual(['done', 2])
		expect(await runs(code, code, undefined)).toEqual([code, 2])
	})

	test('does not repeat after another error', async () => {
		expect(await runs('40001', undefined)).toEqual(['40001', 1])
	})
})
