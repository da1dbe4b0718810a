import { expect, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import type { OutboxStore } from '../../../../src/outbox/store/store.ts'
import { setup } from './setup.ts'

const postgres = setup()

const LATE = 3_000

test('a large transaction that commits late is claimed by scans that continue, not by one full scan per batch', async () => {
	// Regression: scans continued after the latest message ever claimed, so only full scans found these.
	const claimed = { byFullScans: 0, byOthers: 0 }
	const counted: OutboxStore['claim'] = async (request) => {
		const result = await postgres.store.claim(request)
		const isFull = request.targets.some(({ since }) => since === 0)
		claimed[isFull ? 'byFullScans' : 'byOthers'] += result.rows.length
		return result
	}
	const store = new Proxy<OutboxStore>(postgres.store, {
		get: (target, name) => (name === 'claim' ? counted : Reflect.get(target, name, target)),
	})
	const outbox = new Outbox({ store })
	let onSent = () => {}
	let sent = 0
	const sentUntil = (count: number) =>
		new Promise<void>((resolve) => {
			onSent = () => sent >= count && resolve()
			onSent()
		})
	const relay = new Relay(outbox, {
		batchSize: 100,
		maxConcurrent: 100,
		destinations: { jobs: () => {} },
		onEvent: ({ type }) => {
			if (type !== 'relay_sent') return
			sent++
			onSent()
		},
	})
	await relay.start()
	const late = await postgres.pool.connect()
	await late.query('begin')
	const messages = Array.from({ length: LATE }, () => ({ topic: 'jobs', payload: 'late' }))
	await outbox.enqueue(messages, { tx: late })
	await postgres.opened.transaction(
		(tx) => outbox.enqueue({ topic: 'jobs', payload: 'live' }, { tx }),
		'commit',
	)
	await sentUntil(1)
	await late.query('commit')
	late.release()
	await sentUntil(1 + LATE)
	expect(claimed.byFullScans + claimed.byOthers).toBe(1 + LATE)
	expect(claimed.byOthers).toBeGreaterThan(LATE / 2)
	await relay.stop()
	await outbox.close()
})
