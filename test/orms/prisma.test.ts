import { PrismaPg } from '@prisma/adapter-pg'
import { prismaTx } from 'yaoki/outbox'
import { PrismaClient } from './.cache/prisma/client.ts'
import { describeOrm } from './support/suite.ts'

describeOrm({
	name: 'Prisma',
	function: 'prismaTx',
	open(url) {
		const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 4 }) })
		return {
			transaction: (work) =>
				prisma.$transaction((tx) =>
					work({ own: tx, tx: () => prismaTx(tx), run: (text) => tx.$executeRawUnsafe(text) }),
				),
			close: () => prisma.$disconnect(),
			prisma,
		}
	},
	misuses: [
		(database) => prismaTx(Object(database).prisma),
		// An extended client.
		(database) => prismaTx(Object(database).prisma.$extends({})),
	],
})
