import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Demo } from '../../../src/cli/demo/demo.ts'
import { runDemoRelay } from '../../../src/cli/demo/demo-relay.ts'
import { LiveStatus } from '../../../src/cli/demo/live-status.ts'
import { Receiver } from '../../../src/cli/demo/receiver.ts'
import { type FromRelay, type RelayInput, RelayProcess } from '../../../src/cli/demo/relay-process.ts'
import { createSchedule } from '../../../src/cli/demo/schedule.ts'
import { sqliteShop } from '../../../src/cli/demo/sqlite-shop.ts'
import { StockCalls } from '../../../src/cli/demo/stock-calls.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { PLAIN } from '../../../src/text/style.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'

const missingDatabase = (): RelayInput => ({
	type: 'start',
	name: 'relay-1',
	to: 'http://127.0.0.1:1',
	schedule: createSchedule(10),
	database: { kind: 'sqlite', file: join(temporaryFolder(), 'no', 'such.db') },
})

async function shopAndReceiver() {
	const shop = await sqliteShop()
	onTestFinished(() => shop.remove())
	const receiver = new Receiver(systemRuntime)
	receiver.injectsFaults = false
	const to = await receiver.start()
	onTestFinished(() => receiver.close())
	return { shop, receiver, to }
}

test('a relay of the demo delivers committed orders and reports its counts', async () => {
	const { shop, receiver, to } = await shopAndReceiver()
	const messages: FromRelay[] = []
	let stop = () => {}
	const stopped = new Promise<void>((resolve) => {
		stop = resolve
	})
	const input: RelayInput = {
		type: 'start',
		name: 'relay-1',
		to,
		schedule: createSchedule(10),
		database: shop.database,
	}
	const relay = runDemoRelay(input, (message) => messages.push(message), stopped)
	for (const number of [1, 2, 3])
		await shop.write({ orderId: `order-${number}`, amount: number }, number === 2 ? 'ROLLBACK' : 'COMMIT')
	await expect
		.poll(() => [...receiver.orders.keys()].toSorted(), { timeout: 120_000 })
		.toEqual(['order-1', 'order-3'])
	stop()
	await relay
	expect(await shop.orderIds()).toEqual(['order-1', 'order-3'])
	expect(messages[0]).toEqual({ type: 'ready' })
	expect(messages.at(-1)).toMatchObject({ type: 'counts', sent: 2, failed: 0 })
})

describe('a relay process', () => {
	test('a relay process that cannot start reports the reason and ends', async () => {
		let error: Error | undefined
		const relay = new RelayProcess(missingDatabase(), (_, reason) => {
			error = reason
		})
		await relay.ready
		await expect.poll(() => error?.message).toMatch(/^relay-1 ended: .*such\.db/)
		expect(relay.state).toBe('ended')
		await relay.stop(systemRuntime)
		await relay.kill()
	})

	test('a relay process that cannot start ends the demo with its error and leaves no process', async () => {
		const { shop, receiver } = await shopAndReceiver()
		await receiver.close()
		const io = { note: () => {}, style: PLAIN, columns: 80, runtime: systemRuntime }
		const parts = {
			receiver: new Receiver(systemRuntime),
			status: new LiveStatus(io, false),
			schedule: createSchedule(10),
			stock: new StockCalls(createSchedule(10), systemRuntime),
		}
		onTestFinished(() => parts.receiver.close())
		const broken = { ...shop, database: missingDatabase().database }
		const demo = new Demo({ ...parts, shop: broken, runtime: systemRuntime })
		await expect(demo.run(new AbortController().signal)).rejects.toThrow(/^relay-\d ended: /)
		await demo.close()
		parts.status.end()
	})
})
