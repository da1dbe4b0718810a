import type { JobWithMetadata } from 'pg-boss'
import type { Order } from '../../../test/shop/plan.ts'
import { service } from '../../../test/shop/service.ts'
import { resilientAxios } from './client.ts'
import { openQueue, QUEUE } from './queue.ts'

await service(async ({ database, mail: baseURL }) => {
	const mail = resilientAxios(baseURL)
	const boss = await openQueue(database)
	const settings = { batchSize: 100, pollingIntervalSeconds: 0.5, perJobResults: true } as const
	await boss.work<Order>(QUEUE, settings, async (jobs) =>
		Promise.all(
			jobs.map(async ({ id, data }: Pick<JobWithMetadata<Order>, 'id' | 'data'>) => {
				try {
					await mail.post('/mails', data, id)
					return { id, status: 'completed' as const }
				} catch (error) {
					return { id, status: 'failed' as const, output: { error: String(error) } }
				}
			}),
		),
	)
	return undefined
})
