import { expect, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import type { OutboxStore } from '../../../../src/outbox/store/store.ts'
import { setup } from './setup.ts'

const postgres = setup()

const MESSAGES = 10

test('a relay without LISTEN finds messages of another process long before pollMs has passed, with a few polls each', async () => {
	let claims = 0
	const replaced: Partial<OutboxStore> = {
		// A pooler in transaction mode accepts LISTEN, and no notification ever arrives.
		listen: async () => async () => {},
		claim: (request) => {
			claims++
			return postgres.store.claim(request)
		},
	}
	const store = new Proxy<OutboxStore>(postgres.store, {
		get: (target, name) => Reflect.get(name in replaced ? replaced : target, name, target),
	})
	let onSent = () => {}
	const relay = new Relay(new Outbox({ store }), {
		// With polls once per hour, the test would not end.
		pollMs: 3_600_000,
		destinations: { jobs: () => {} },
		onEvent: ({ type }) => type === 'relay_sent' && onSent(),
	})
	await relay.start()
	const elsewhere = new Outbox({ store: postgres.store })
	for (let at = 0; at < MESSAGES; at++) {
		const sent = new Promise<void>((resolve) => {
			onSent = resolve
		})
		await postgres.opened.transaction(
			(tx) => elsewhere.enqueue({ topic: 'jobs', payload: at }, { tx }),
			'commit',
		)
		await sent
	}
	// Intervals grow while nothing is found: 20 polls take longer than a busy machine needs for a message.
	expect(claims).toBeLessThanOrEqual(20 * MESSAGES)
	await relay.stop()
})
