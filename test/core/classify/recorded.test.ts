/** Errors that packages threw, which recorded/record.js recorded with their whole shape. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Classification, classify } from 'yaoki'
import { PERMANENT, THROTTLED, TRANSIENT } from './expected.ts'

/** An object as recorded/shape.js writes it. */
interface Shape extends Readonly<Record<string, unknown>> {
	/** The names of its classes. */
	readonly $class?: readonly string[]
	/** What its classes define. */
	readonly $inherited?: Readonly<Record<string, unknown>>
	/** The entries of a Headers object. */
	readonly $entries?: readonly [string, string][]
}

interface Recording {
	readonly packages: Readonly<Record<string, string>>
	readonly errors: Readonly<
		Record<string, { readonly how: 'thrown' | 'constructed'; readonly error: unknown }>
	>
}

const { packages, errors }: Recording = JSON.parse(
	readFileSync(new URL('./recorded/errors.json', import.meta.url), 'utf8'),
)

const isShape = (value: unknown): value is Shape => typeof value === 'object' && value !== null

/** Creates an object of the recorded shape. */
function revive(shape: unknown): unknown {
	if (Array.isArray(shape)) return shape.map(revive)
	if (!isShape(shape)) return shape
	const { $class: classes = [], $inherited: inherited = {}, $entries: entries, ...own } = shape
	if (entries) return new Headers([...entries])
	const proto: object = Object.create(classes.includes('Error') ? Error.prototype : Object.prototype)
	for (const [name, value] of Object.entries(inherited))
		Object.defineProperty(proto, name, { get: () => revive(value) })
	const value: object = Object.create(proto)
	for (const [name, field] of Object.entries(own))
		Object.defineProperty(value, name, { value: revive(field), enumerable: true })
	return value
}

const after = (kind: Classification, retryAfterMs: number): Classification => ({ ...kind, retryAfterMs })

const EXPECTED: readonly (readonly [Classification, readonly string[]])[] = [
	[
		PERMANENT,
		[
			'anthropic: invalid request',
			'anthropic: wrong key',
			'better-sqlite3: check constraint',
			'better-sqlite3: foreign key',
			'better-sqlite3: no such table',
			'better-sqlite3: not null',
			'better-sqlite3: primary key',
			'better-sqlite3: read-only',
			'better-sqlite3: syntax error',
			'better-sqlite3: unique constraint',
			'kafkajs: a message without a topic',
			'kafkajs: message too large',
			'kafkajs: retries exhausted after a protocol error that is final',
			'kafkajs: timeout',
			'kafkajs: topic authorization failed',
			'mongodb: bad value',
			'mongodb: document validation',
			'mongodb: duplicate key',
			'mongodb: duplicate key in a bulk write',
			'mongodb: no such collection',
			'mongodb: not authorized',
			'mysql2: access denied',
			'mysql2: duplicate entry',
			'mysql2: foreign key',
			'mysql2: no default value',
			'mysql2: no such table',
			'mysql2: syntax error',
			'nodemailer: authentication failed',
			'nodemailer: message rejected as spam',
			'nodemailer: no credentials',
			'nodemailer: no recipients',
			'nodemailer: no such mailbox',
			'nodemailer: self-signed certificate',
			'nodemailer: sender rejected',
			'octokit: forbidden',
			'prisma: findUniqueOrThrow',
			'prisma: foreign key',
			'prisma: no such database',
			'prisma: no such record',
			'prisma: raw query that fails',
			'prisma: unique constraint',
			'prisma: validation',
			'prisma: wrong password',
			'sequelize: foreign key',
			'sequelize: no such row',
			'sequelize: no such table',
			'sequelize: unique constraint',
			'sequelize: validation',
			'sequelize: wrong password',
			'stripe: api error that should not be retried',
			'stripe: card declined',
			'stripe: idempotency key reused',
			'stripe: invalid request',
			// The client keeps only the SyntaxError, without the status.
			'trpc client: a gateway that responds with HTML',
			'trpc client: invalid input',
			'trpc client: not found',
			'trpc server: conflict',
			'trpc server: not found',
			'typeorm: no such entity',
			'typeorm: unique constraint of PostgreSQL',
			'typeorm: unique constraint of SQLite',
			'typeorm: unknown column',
			'ws: upgrade with 401',
		],
	],
	[
		TRANSIENT,
		[
			'anthropic: connection refused',
			'anthropic: overloaded',
			'anthropic: timeout',
			'better-sqlite3: locked by another connection',
			'kafkajs: a producer that is not connected',
			'kafkajs: connection closed',
			'kafkajs: connection closed by the broker',
			'kafkajs: connection refused',
			'kafkajs: not enough replicas',
			'kafkajs: not leader for partition',
			'kafkajs: request timeout',
			'kafkajs: unknown topic or partition',
			'mongodb: a transaction that may be retried',
			'mongodb: a write that may be retried',
			'mongodb: connection closed',
			'mongodb: connection refused',
			'mongodb: primary stepped down',
			'mongodb: read from a server that is no longer primary',
			'mongodb: time limit of the operation',
			'mysql2: connect timeout',
			'mysql2: connection lost',
			'mysql2: connection refused',
			'mysql2: deadlock',
			'mysql2: lock wait timeout',
			'mysql2: no connections available',
			'mysql2: queue limit reached',
			'mysql2: server shutdown',
			'mysql2: too many connections',
			'nodemailer: authentication failed temporarily',
			'nodemailer: connection closed during the message',
			'nodemailer: connection refused',
			'nodemailer: mailbox busy',
			'nodemailer: message deferred',
			'nodemailer: no greeting',
			'nodemailer: service not available',
			'prisma: P1001',
			'prisma: P1002',
			'prisma: P1008',
			'prisma: P1017',
			'prisma: P2024',
			'prisma: P2037',
			'prisma: connection refused',
			'prisma: initialization error with an errorCode',
			'prisma: transaction that expired',
			'prisma: write conflict',
			'sequelize: connection refused',
			'sequelize: pool exhausted',
			'sequelize: statement timeout',
			'stripe: api error',
			'stripe: conflict that should be retried',
			'stripe: connection refused',
			'stripe: lock timeout as a conflict',
			'stripe: timeout',
			'trpc client: connection refused',
			'trpc client: internal server error',
			'trpc client: timeout of the server',
			'trpc server: internal server error',
			'typeorm: connection refused',
			'ws: upgrade with 502',
		],
	],
	[
		THROTTLED,
		[
			'mysql2: resource limit of the user',
			'mysql2: too many connections of the user',
			// The time of the recorded reset has passed.
			'octokit: primary rate limit',
			'stripe: lock timeout',
			'trpc server: too many requests',
			'ws: upgrade with 429',
		],
	],
	[after(THROTTLED, 3_000), ['stripe: rate limit with retry-after']],
	[after(THROTTLED, 4_000), ['trpc client: too many requests with retry-after']],
	[after(THROTTLED, 6_000), ['octokit: secondary rate limit with retry-after']],
	[after(THROTTLED, 7_000), ['anthropic: rate limit with retry-after']],
	// The file may be created later, so SQLite's CANTOPEN is not known to be permanent.
	[{ kind: 'transient', isKnown: false }, ['better-sqlite3: no such file']],
]

describe.each(EXPECTED)('is %o:', (meaning, names) => {
	test.each(names)('%s', (name) => {
		const error = revive(errors[name]?.error ?? null)
		expect(classify(error)).toEqual(meaning)
		// Also as the cause of a user's own error.
		expect(classify(new Error('order failed', { cause: error }))).toEqual(meaning)
	})
})

test('every recorded error is listed here, and every package has an exact version', () => {
	expect(EXPECTED.flatMap(([, names]) => names).sort()).toEqual(Object.keys(errors).sort())
	for (const version of Object.values(packages)) expect(version).toMatch(/^\d+\.\d+\.\d+/)
})
