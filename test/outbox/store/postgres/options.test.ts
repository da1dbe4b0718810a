import pg from 'pg'
import { expect, test } from 'vitest'
import type { PostgresOutboxStoreOptions } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { PgPool } from '../../../../src/sql/clients.ts'

const never = () => Promise.reject(new Error('not called'))
const client: PgPool = { query: never, connect: never, on: () => {}, removeListener: () => {} }

const invalid: readonly [what: string, options: object, message: RegExp][] = [
	['no client', {}, /a Pool of pg \(not a Client, not an ORM\) or a PGlite database/],
	['a single Client of pg, which runs one query at a time', { client: new pg.Client() }, /not a Client/],
	['a native Client of pg', { client: { ...client, getTransactionStatus() {} } }, /not a Client/],
	['the pool itself', client, /an object such as \{ client: pool \}/],
	[
		'a URL in the place of the options, without its password',
		'postgres://ada:sesame7@localhost/shop' as unknown as object,
		/^(?!.*sesame7).*an object such as \{ client: pool \}/,
	],
	['a client without transactions', { client: { query() {} } }, /client.* a Pool of pg/],
	['a schema with quotes', { client, schema: 'a"; drop' }, /schema.* at most 50/],
	['a schema in capitals', { client, schema: 'Outbox' }, /schema.* at most 50/],
	['a schema that is too long', { client, schema: 'a'.repeat(51) }, /schema.* at most 50/],
	['a fraction of a millisecond', { client, clockOffsetMs: 0.5 }, /clockOffsetMs.* an integer/],
	['a text for prepare', { client, prepare: 'no' }, /prepare.* a boolean/],
	['a claim timeout of 0, which would be none', { client, claimTimeoutMs: 0 }, /claimTimeoutMs/],
	['an unknown option', { client, shema: 'a' }, /shema/],
	['a text for options', Object('x') as object, /0/],
]

for (const [what, options, message] of invalid) {
	test(`rejects ${what}`, () => {
		expect(() => postgresOutboxStore(options as PostgresOutboxStoreOptions)).toThrow(message)
	})
}

test('migrations contain the schema name', () => {
	const store = postgresOutboxStore({ client, schema: 'mine' })
	expect(store.kind).toBe('postgres')
	expect(store.migrations.map(({ version }) => version)).toEqual([1])
	expect(store.migrations[0]?.sql).toContain('create table "mine".outbox (')
	expect(store.migrations[0]?.sql).not.toMatch(/\{s\}|\{now\}/)
})
