import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { demoRelay } from '../../../src/cli/demo/demo-relay.ts'
import { planOf } from '../../../src/cli/demo/plan.ts'
import { Play } from '../../../src/cli/demo/play.ts'
import { Receiver } from '../../../src/cli/demo/receiver.ts'
import { RelayProcess } from '../../../src/cli/demo/relay-process.ts'
import type { Brief, Word } from '../../../src/cli/demo/relay-protocol.ts'
import { Screen } from '../../../src/cli/demo/screen.ts'
import { sqliteShop } from '../../../src/cli/demo/sqlite-shop.ts'
import { createStyle } from '../../../src/cli/style.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { temporaryFolder } from '../outbox/run-yaoki.ts'

const nowhere = (): Brief => ({
	...{ type: 'brief', name: 'relay-1', to: 'http://127.0.0.1:1', plan: planOf(10) },
	database: { kind: 'sqlite', file: join(temporaryFolder(), 'no', 'such.db') },
})

async function shopAndReceiver() {
	const shop = await sqliteShop()
	onTestFinished(() => shop.remove())
	const receiver = new Receiver(systemRuntime)
	receiver.isMoody = false
	const to = await receiver.start()
	onTestFinished(() => receiver.close())
	return { shop, receiver, to }
}

test('a relay of the demo brings what is committed to the receiver, and tells how much', async () => {
	const { shop, receiver, to } = await shopAndReceiver()
	const told: Word[] = []
	let stop = () => {}
	const stopped = new Promise<void>((resolve) => {
		stop = resolve
	})
	const brief: Brief = { type: 'brief', name: 'relay-1', to, plan: planOf(10), database: shop.database }
	const relay = demoRelay(brief, (word) => told.push(word), stopped)
	for (const number of [1, 2, 3])
		await shop.write({ orderId: `order-${number}`, amount: number }, number === 2 ? 'ROLLBACK' : 'COMMIT')
	await expect
		.poll(() => [...receiver.orders.keys()].toSorted(), { timeout: 15_000 })
		.toEqual(['order-1', 'order-3'])
	stop()
	await relay
	expect(await shop.orderIds()).toEqual(['order-1', 'order-3'])
	expect(told[0]).toEqual({ type: 'ready' })
	expect(told.at(-1)).toMatchObject({ type: 'counts', sent: 2, failed: 0 })
})

describe('a relay process', () => {
	test('that can not work tells why, and is gone', async () => {
		let error: Error | undefined
		const relay = new RelayProcess(nowhere(), (_, why) => {
			error = why
		})
		await relay.ready
		await expect.poll(() => error?.message).toMatch(/^relay-1 ended: .*such\.db/)
		expect(relay.state).toBe('ended')
		await relay.stop(systemRuntime)
		await relay.kill()
	}, 60_000)

	test('that can not work ends the demo with its reason, and leaves no other', async () => {
		const { shop, receiver } = await shopAndReceiver()
		await receiver.close()
		const io = { note: () => {}, style: createStyle(false), columns: 80, runtime: systemRuntime }
		const cast = { receiver: new Receiver(systemRuntime), screen: new Screen(io, false), plan: planOf(10) }
		onTestFinished(() => cast.receiver.close())
		const broken = { ...shop, database: nowhere().database }
		const play = new Play({ ...cast, shop: broken, runtime: systemRuntime })
		await expect(play.toItsEnd(new AbortController().signal)).rejects.toThrow(/^relay-\d ended: /)
		await play.clear()
		cast.screen.end()
	}, 60_000)
})
