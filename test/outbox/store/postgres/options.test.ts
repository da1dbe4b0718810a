import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PgPool } from '../../../../src/outbox/store/postgres/client.ts'
import type { PostgresStoreOptions } from '../../../../src/outbox/store/postgres/options.ts'
import { fairPart } from '../../../../src/outbox/store/postgres/permits.ts'
import { PostgresStore, postgresStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'

const never = () => Promise.reject(new Error('not asked'))
const client: PgPool = { query: never, connect: never, on: () => {}, removeListener: () => {} }

const refused: readonly [what: string, options: object, message: RegExp][] = [
	[
		'no client',
		{},
		/Invalid option "client": expected a Pool of pg \(not a Client\), or a database of PGlite.*, got undefined/,
	],
	[
		'a single Client of pg, with which only one thing can be done at a time',
		{ client: { ...client, getTransactionStatus() {} } },
		/not a Client/,
	],
	[
		'the pool itself',
		client,
		/Invalid option "options": expected an object with it: postgresStore\(\{ client: pool \}\).*, got 'a pool'/,
	],
	['a client that can not transact', { client: { query() {} } }, /client: .* takes a Pool of pg/],
	['a schema with quotes', { client, schema: 'a"; drop' }, /schema: .* takes a plain name/],
	['a schema in capitals', { client, schema: 'Outbox' }, /schema: .* takes a plain name/],
	['a schema that is too long', { client, schema: 'a'.repeat(51) }, /schema: .* at most 50/],
	[
		'a fraction of a millisecond',
		{ client, clockOffsetMs: 0.5 },
		/Invalid option "clockOffsetMs": expected a whole number.*, got 0\.5/,
	],
	[
		'a text for prepare',
		{ client, prepare: 'no' },
		/Invalid option "prepare": expected a boolean.*, got 'no'/,
	],
	['an unknown option', { client, shema: 'a' }, /shema: .* there is no such option/],
	['a text for options', Object('x') as object, /no such option/],
]

for (const [what, options, message] of refused) {
	test(`${what} is refused`, () => {
		expect(() => postgresStore(options as PostgresStoreOptions)).toThrow(message)
	})
}

test('the factory makes the class, and the schema is named in the printed SQL', () => {
	const store = postgresStore({ client, schema: 'mine' })
	expect(store).toBeInstanceOf(PostgresStore)
	expect(store.kind).toBe('postgres')
	expect(store.migrations.map(({ version }) => version)).toEqual([1])
	expect(store.migrations[0]?.sql).toContain('create table "mine".outbox (')
	expect(store.migrations[0]?.sql).not.toMatch(/\{s\}|\{now\}/)
})

test('parts are fair: they fit, nobody gets more than it wants, and who wants more differs by one place at most', () => {
	const wants = fc.array(fc.nat(50), { minLength: 1, maxLength: 8 })
	fc.assert(
		fc.property(wants, fc.nat(100), (wants, total) => {
			const wishes = wants.map((wanted, at) => ({ owner: `relay ${at}`, wanted }))
			const parts = wishes.map((mine) =>
				fairPart(
					mine,
					wishes.filter((wish) => wish !== mine),
					total,
				),
			)
			const given = parts.reduce((sum, part) => sum + part, 0)
			expect(given).toBe(
				Math.min(
					total,
					wants.reduce((sum, wanted) => sum + wanted, 0),
				),
			)
			const unsated = parts.filter((part, at) => part < (wants[at] ?? 0))
			for (const [at, part] of parts.entries()) {
				expect(part).toBeLessThanOrEqual(wants[at] ?? 0)
				for (const least of unsated) expect(part).toBeLessThanOrEqual(least + 1)
			}
		}),
	)
})
