/** The states, invariants and timeouts of docs/decisions/0049-bounded-statements.md. */
import { describe, expect, test } from 'vitest'
import { BoundedExecutor } from '../../src/sql/bounded-executor.ts'
import type { PGliteLike, PgPool } from '../../src/sql/clients.ts'
import { recordedServer, SqlError } from './recorded-server.ts'

const executorOn = (client: PgPool | PGliteLike, prepare = true): BoundedExecutor =>
	new BoundedExecutor({
		client,
		prepare,
		complete: (sql) => ({ name: sql.replaceAll(/\W+/g, '_'), text: sql }),
		guard: (work) => work(),
	})

const COUNT = 'select $1::int'
const PREPARE = 'prepare select_1_int_bounded as select $1::int'
const execute = (value: string) => `execute select_1_int_bounded(${value})`

describe('a statement', () => {
	test('is prepared once per connection, and executed with its values', async () => {
		const server = recordedServer()
		const executor = executorOn(server.pool)
		expect(await executor.run(COUNT, [1])).toEqual([{ n: 0 }])
		await executor.run(COUNT, [2])
		expect(server.texts).toEqual([PREPARE, execute("'1'"), execute("'2'")])
		expect(server.releases).toEqual([false, false])
	})

	test('is not prepared again by another store on the same pool', async () => {
		const server = recordedServer()
		await executorOn(server.pool).run(COUNT, [1])
		await executorOn(server.pool).run(COUNT, [2])
		expect(server.texts.filter((text) => text === PREPARE)).toHaveLength(1)
	})

	test('is prepared again if the server has forgotten it', async () => {
		const server = recordedServer()
		const executor = executorOn(server.pool)
		await executor.run(COUNT, [1])
		server.prepared.clear()
		server.texts.length = 0
		await executor.run(COUNT, [2])
		await executor.run(COUNT, [3])
		expect(server.texts).toEqual([execute("'2'"), PREPARE, execute("'2'"), execute("'3'")])
	})

	test('is no longer prepared if it is missing right after it was prepared', async () => {
		const server = recordedServer()
		server.onText = () => server.prepared.clear()
		const executor = executorOn(server.pool)
		await executor.run(COUNT, [1])
		await executor.run(COUNT, [2])
		expect(server.texts).toEqual([PREPARE, execute("'1'"), "select '1'::int", "select '2'::int"])
	})

	test('of the same name that exists already is used', async () => {
		const server = recordedServer()
		server.prepared.add('select_1_int_bounded')
		await executorOn(server.pool).run(COUNT, [1])
		expect(server.texts).toEqual([PREPARE, execute("'1'")])
	})

	test('is not repeated after another error, and its connection can be used again', async () => {
		const server = recordedServer()
		server.onText = (text) => {
			if (text.includes('execute')) throw new SqlError('40001')
		}
		await expect(executorOn(server.pool).run(COUNT, [1])).rejects.toMatchObject({ code: '40001' })
		expect(server.texts).toEqual([PREPARE, execute("'1'")])
		expect(server.releases).toEqual([false])
	})

	test('destroys its connection after an error without an SQLSTATE', async () => {
		const server = recordedServer()
		server.onText = () => {
			throw new Error('read ECONNRESET')
		}
		await expect(executorOn(server.pool).run(COUNT, [1])).rejects.toThrow('ECONNRESET')
		expect(server.releases).toEqual([true])
	})

	test('destroys a connection that emits an error, which does not end the process', async () => {
		const server = recordedServer()
		server.onText = () => server.emit('error', new Error('terminated'))
		await executorOn(server.pool).run(COUNT, [1])
		expect(server.releases).toEqual([true])
		expect(server.handlers('error')).toBe(0)
	})

	test.each([
		[null, 'null'],
		[true, "'true'"],
		[1.5, "'1.5'"],
		["it's", "'it''s'"],
		['back\\slash', " E'back\\\\slash'"],
		["both \\ and '", " E'both \\\\ and '''"],
	])('writes the value %j as the literal %s', async (value, literal) => {
		const server = recordedServer()
		await executorOn(server.pool).run(COUNT, [value])
		expect(server.texts.at(-1)).toBe(execute(literal))
		await executorOn(server.pool, false).run(COUNT, [value])
		expect(server.texts.at(-1)).toBe(`select ${literal}::int`)
	})

	test('runs with a second one in the same text, and returns the rows of both', async () => {
		const server = recordedServer()
		const next = { sql: 'select 1', values: [] }
		expect(await executorOn(server.pool).run(COUNT, [1], undefined, next)).toEqual([{ n: 0 }, { n: 1 }])
		expect(server.texts.at(-1)).toBe(`${execute("'1'")}; execute select_1_bounded`)
	})

	test('carries settings that leave the planner no other plan', async () => {
		const server = recordedServer()
		const sent: string[] = []
		server.onText = (text) => void sent.push(text)
		await executorOn(server.pool).run(COUNT, [1])
		for (const text of sent) {
			expect(text).toMatch(/^set transaction isolation level read committed; set local enable_seqscan = off;/)
			expect(text).toContain('set local plan_cache_mode = force_generic_plan;')
		}
		expect(sent).toHaveLength(2)
	})
})

describe('limits', () => {
	const LIMITS = { timeoutMs: 99.5, label: 'claim r1' }

	test('set a timeout on the server, for the preparation too', async () => {
		const server = recordedServer()
		await executorOn(server.pool).run(COUNT, [1], LIMITS)
		const before = '/* yaoki claim r1 */ set local statement_timeout = 100; '
		expect(server.texts).toEqual([`${before}${PREPARE}`, `${before}${execute("'1'")}`])
	})

	test('do not exceed the timeout of the server', async () => {
		const server = recordedServer()
		server.timeoutMs = 25
		await executorOn(server.pool).run(COUNT, [1], LIMITS)
		expect(server.texts.at(-1)).toContain('statement_timeout = 25;')
	})

	test.each([
		[0, 99.5],
		[25, 25],
	])(
		'a cancelled statement rejects with the limit that applied: server %i ms, limit %d ms',
		async (own, timeoutMs) => {
			const server = recordedServer()
			server.timeoutMs = own
			server.onText = () => {
				throw new SqlError('57014')
			}
			const outcome = executorOn(server.pool).run(COUNT, [1], LIMITS)
			await expect(outcome).rejects.toMatchObject({ name: 'TimeoutError', timeoutMs })
			expect(server.releases).toEqual([false])
		},
	)

	test('without limits, a cancelled statement rejects with the error of the server', async () => {
		const server = recordedServer()
		server.onText = () => {
			throw new SqlError('57014')
		}
		await expect(executorOn(server.pool).run(COUNT, [1])).rejects.toMatchObject({ code: '57014' })
	})

	test('a statement that is aborted while it waits for a connection never runs', async () => {
		const server = recordedServer()
		const reason = new Error('given up')
		const signal = AbortSignal.abort(reason)
		await expect(executorOn(server.pool).run(COUNT, [1], { ...LIMITS, signal })).rejects.toBe(reason)
		expect(server.texts).toEqual([])
		expect(server.releases).toEqual([false])
	})

	test('a running statement that is aborted is cancelled by its comment, on another connection', async () => {
		const server = recordedServer()
		const giveUp = new AbortController()
		server.onText = () => giveUp.abort()
		await executorOn(server.pool).run(COUNT, [1], { ...LIMITS, signal: giveUp.signal })
		expect(server.others).toEqual([[expect.stringContaining('pg_cancel_backend'), ['/* yaoki claim r1 */ ']]])
	})

	test('a statement that has ended is not cancelled', async () => {
		const server = recordedServer()
		const giveUp = new AbortController()
		await executorOn(server.pool).run(COUNT, [1], { ...LIMITS, signal: giveUp.signal })
		giveUp.abort()
		expect(server.others).toEqual([])
	})

	test('a label cannot end the comment', async () => {
		const server = recordedServer()
		await executorOn(server.pool).run(COUNT, [1], { timeoutMs: 1, label: 'claim */ drop table x; --' })
		expect(server.texts[0]).toMatch(/^\/\* yaoki claim __ drop table x_ -- \*\/ set local/)
	})
})

describe('a transaction', () => {
	const twice = (executor: BoundedExecutor) =>
		executor.transaction(async (transaction) => {
			await transaction.run(COUNT, [1])
			return transaction.run(COUNT, [2])
		})

	test('prepares and executes between begin and commit', async () => {
		const server = recordedServer()
		expect(await twice(executorOn(server.pool))).toEqual([{ n: 0 }])
		const [begin, ...rest] = server.texts
		expect(begin).toMatch(/^begin isolation level read committed;/)
		expect(rest).toEqual([PREPARE, execute("'1'"), execute("'2'"), 'commit'])
	})

	test('runs once more, without preparing, if a pooler has lost a statement', async () => {
		const server = recordedServer()
		server.onText = (text) => {
			if (text.startsWith('execute')) server.prepared.clear()
		}
		await twice(executorOn(server.pool))
		expect(server.texts.map((text) => text.split(';')[0])).toEqual([
			'begin isolation level read committed',
			PREPARE,
			execute("'1'"),
			'rollback',
			'begin isolation level read committed',
			"select '1'::int",
			"select '2'::int",
			'commit',
		])
	})

	test('is rolled back and not repeated after another error', async () => {
		const server = recordedServer()
		server.onText = (text) => {
			if (text.includes("'2'")) throw new SqlError('23505')
		}
		await expect(twice(executorOn(server.pool))).rejects.toMatchObject({ code: '23505' })
		expect(server.texts.at(-1)).toBe('rollback')
		expect(server.texts.filter((text) => text.startsWith('begin'))).toHaveLength(1)
	})
})

test('on PGlite a statement is one text with its values, without limits', async () => {
	const texts: string[] = []
	const pglite: PGliteLike = {
		query: async () => ({ rows: [] }),
		transaction: (work) => work(pglite),
		listen: async () => async () => {},
		async exec(sql) {
			texts.push(sql)
			return [{ rows: [] }, { rows: [{ n: 7 }] }]
		},
	}
	const executor = executorOn(pglite, false)
	expect(await executor.run(COUNT, [1], { timeoutMs: 1, label: 'claim r1' })).toEqual([{ n: 7 }])
	expect(texts).toEqual([expect.stringMatching(/^set transaction.*select '1'::int$/)])
	expect(await executor.transaction((transaction) => transaction.run(COUNT, [2]))).toEqual([{ n: 7 }])
	expect(texts.at(-1)).toBe("select '2'::int")
})
