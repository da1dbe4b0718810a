import { PrismaPg } from '@prisma/adapter-pg'
import { startPostgres } from '../../../support/real-postgres.ts'
import { Prisma, PrismaClient } from './.cache/prisma/client.ts'
import { constructed, deadPort, thrownBy } from './provoke.js'

const postgres = await startPostgres({ deadlock_timeout: '100ms' })

const clientAt = (more = {}) =>
	new PrismaClient({ errorFormat: 'minimal', adapter: new PrismaPg({ ...postgres.connection, ...more }) })

const db = clientAt()
await db.$executeRawUnsafe('create table "User" (id int primary key, email text unique)')
await db.$executeRawUnsafe(
	'create table "Order" (id int primary key, "userId" int not null references "User" (id))',
)
await db.user.create({ data: { id: 1, email: 'timeout@example.com' } })

async function unreachable(more) {
	const client = clientAt(more)
	return thrownBy(() => client.user.findFirst()).finally(() => client.$disconnect())
}

/** Two serializable transactions of which one must fail. */
async function conflict() {
	const isolationLevel = 'Serializable'
	const read = (tx) => tx.user.count()
	return thrownBy(() =>
		db.$transaction(
			async (tx) => {
				await read(tx)
				await db.$transaction(
					async (other) => {
						await read(other)
						await other.user.create({ data: { id: 2, email: 'b' } })
					},
					{ isolationLevel },
				)
				await tx.user.create({ data: { id: 3, email: 'c' } })
			},
			{ isolationLevel },
		),
	)
}

/** An error that needs another engine or a connection pool of Prisma's own. */
const known = (code, message) => () =>
	constructed(
		new Prisma.PrismaClientKnownRequestError(message, { code, clientVersion: Prisma.prismaVersion.client }),
	)

export const cases = {
	'prisma: unique constraint': () =>
		thrownBy(() => db.user.create({ data: { id: 9, email: 'timeout@example.com' } })),
	'prisma: foreign key': () => thrownBy(() => db.order.create({ data: { id: 1, userId: 99 } })),
	'prisma: no such record': () => thrownBy(() => db.user.update({ where: { id: 99 }, data: { email: 'x' } })),
	'prisma: findUniqueOrThrow': () => thrownBy(() => db.user.findUniqueOrThrow({ where: { id: 99 } })),
	'prisma: validation': () => thrownBy(() => db.user.create({ data: { id: 'one' } })),
	'prisma: raw query that fails': () => thrownBy(() => db.$queryRawUnsafe('select * from nowhere')),
	'prisma: write conflict': conflict,
	'prisma: transaction that expired': () =>
		thrownBy(() =>
			db.$transaction(
				async (tx) => {
					await tx.$queryRawUnsafe('select pg_sleep(0.2)::text')
					await tx.user.count()
				},
				{ timeout: 50 },
			),
		),
	'prisma: connection refused': async () => unreachable({ port: await deadPort() }),
	'prisma: wrong password': () => unreachable({ password: 'wrong' }),
	'prisma: no such database': () => unreachable({ database: 'nowhere' }),
	'prisma: P1001': known('P1001', "Can't reach database server at `127.0.0.1:1`"),
	'prisma: P1002': known('P1002', 'The database server was reached but timed out.'),
	'prisma: P1008': known('P1008', 'Operations timed out after 5 s'),
	'prisma: P1017': known('P1017', 'Server has closed the connection.'),
	'prisma: P2024': known('P2024', 'Timed out fetching a new connection from the connection pool.'),
	'prisma: P2037': known('P2037', 'Too many database connections opened'),
	'prisma: initialization error with an errorCode': () =>
		constructed(
			new Prisma.PrismaClientInitializationError(
				"Can't reach database server",
				Prisma.prismaVersion.client,
				'P1001',
			),
		),
}

export async function close() {
	await db.$disconnect()
	await postgres[Symbol.asyncDispose]()
}
