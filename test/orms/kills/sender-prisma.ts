/** Places orders with Prisma. */
import { PrismaPg } from '@prisma/adapter-pg'
import { prismaTx } from 'yaoki/outbox'
import { PrismaClient } from '../.cache/prisma/client.ts'
import { messageOf, outbox, serveOrders, url } from './sender.ts'

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })

serveOrders((id) =>
	prisma.$transaction(async (tx) => {
		const { count } = await tx.order.createMany({ data: [{ id, total: 1_200 }], skipDuplicates: true })
		if (count === 0) return false
		await outbox.enqueue(messageOf(id), { tx: prismaTx(tx) })
		return true
	}),
)
