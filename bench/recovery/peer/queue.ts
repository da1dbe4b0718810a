import { PgBoss } from 'pg-boss'
import { note } from '../../../test/shop/service.ts'

export const QUEUE = 'order-placed'

export async function openQueue(connectionString: string): Promise<PgBoss> {
	const boss = new PgBoss({ connectionString })
	boss.on('error', () => note('pg-boss: error'))
	await boss.start()
	if (!(await boss.getQueue(QUEUE))) await boss.createQueue(QUEUE, { retryLimit: 10, retryBackoff: true })
	return boss
}
