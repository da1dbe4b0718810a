import { expect, test } from 'vitest'
import { Emitter } from '../../../src/core/observe/emitter.ts'
import type { RelayEvent } from '../../../src/outbox/events/relay-events.ts'
import { Delivery } from '../../../src/outbox/relay/delivery.ts'
import { DestinationState } from '../../../src/outbox/relay/destination-state.ts'
import type { RelayParts } from '../../../src/outbox/relay/dispatcher.ts'
import { Heartbeat } from '../../../src/outbox/relay/heartbeat.ts'
import { readDestination, readRelayOptions } from '../../../src/outbox/relay/options.ts'
import { RelayContext } from '../../../src/outbox/relay/relay-context.ts'
import type { ClaimedRow } from '../../../src/outbox/store/rows.ts'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'

const row = (attempt: number): ClaimedRow => ({
	id: 'one',
	attempt,
	destination: 'jobs',
	topic: 'jobs',
	key: null,
	sequence: 1,
	payload: '1',
	headers: null,
	maxRetries: null,
	delayMs: null,
	crashes: 0,
	createdAt: 0,
	claimedAt: 0,
	dueAt: 0,
	expiresAt: null,
})

test('a renewal in flight does not end a delivery that continues under a newer claim', async () => {
	// Regression: the renewal named the old claim, and its response was taken for a lost lease of the new one.
	const runtime = virtualRuntime()
	const settings = readRelayOptions({ leaseMs: 3_000, runtime })
	const lost: string[] = []
	const renewal = Promise.withResolvers<readonly string[]>()
	const store: Partial<OutboxStore> = { heartbeat: async () => {}, renew: () => renewal.promise }
	const emitter = new Emitter<RelayEvent>('relay', runtime)
	const context = new RelayContext(store as OutboxStore, settings, 'relay-1', false, emitter)
	const own = readDestination('jobs', () => {}, settings)
	const state = new DestinationState('jobs', own, settings)
	const delivery = new Delivery(row(1), 1_500, () => {})
	state.inFlight.add(delivery)
	const heartbeat = new Heartbeat({
		context,
		states: { byName: new Map([['jobs', state]]), hasWildcard: false },
		settler: { unwritten: () => [] },
		dispatcher: { inFlight: 1, loseLease: () => lost.push('one'), expireLease: () => {} },
	} as unknown as RelayParts)
	await heartbeat.start()
	await runtime.advance(1_000)
	// The renewal of attempt 1 is in flight. The lease ends, and the relay claims the message again.
	delivery.row = row(2)
	delivery.leaseUntil = 9_000
	renewal.resolve(['one'])
	await runtime.advance(1)
	heartbeat.stop()
	expect(lost).toEqual([])
	expect(delivery.leaseUntil).toBe(9_000)
})
