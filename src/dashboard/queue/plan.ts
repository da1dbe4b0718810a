/** What an action would change. Nothing is written. */
import { invalidArgument } from '../../core/options/schema.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { destinationOf } from '../../webhooks/endpoint-names.ts'
import type { ActionPlan, Count, Selection } from '../contract.ts'
import type { QueueAction } from '../parts.ts'
import { commandOf } from './commands.ts'
import { isPaused } from './outbox-view.ts'
import { toFilter } from './selection.ts'
import type { QueueSettings } from './settings.ts'
import { type QueueSources, requireSource } from './sources.ts'

/** Queued messages are counted by reading them, so not further than this. */
const MAX_QUEUED = 1_000
const PAGE_SIZE = 100
const MAX_GROUPS = 1_000
const MAX_DUE = 10_000

interface Matching {
	readonly matching: Count
	readonly destinations: readonly string[]
}

export async function planAction(
	action: QueueAction,
	sources: QueueSources,
	settings: QueueSettings,
): Promise<ActionPlan> {
	if (action.action === 'cancel-job') invalidArgument('action', action.action, 'an action that has a plan')
	const command = commandOf(action, settings.flags) ?? ''
	switch (action.action) {
		case 'disable-endpoint':
		case 'enable-endpoint':
		case 'test-endpoint':
		case 'resend-endpoint': {
			const [, { endpoints }] = requireSource('source', action.source, sources.webhooks)
			const found = await endpoints.find(action.id)
			const isWaiting = found !== undefined && !found.isEnabled && action.action !== 'enable-endpoint'
			const destinations = found ? [destinationOf(found.id)] : []
			return { ...one(destinations), waiting: isWaiting ? destinations : [], command }
		}
		default: {
			const [, outbox] = requireSource('source', action.source, sources.outboxes)
			const { matching, destinations } = await matchingOf(action, outbox)
			return { matching, destinations, waiting: await waitingOf(outbox, destinations), command }
		}
	}
}

const one = (destinations: readonly string[]): Matching => ({
	matching: { count: destinations.length, isCapped: false },
	destinations,
})

type OutboxAction = Extract<QueueAction, { readonly selection: Selection } | { readonly destination: string }>

async function matchingOf(
	action: OutboxAction | Extract<QueueAction, { readonly action: 'resend' }>,
	outbox: Outbox,
): Promise<Matching> {
	switch (action.action) {
		case 'replay':
		case 'discard': {
			const filter = toFilter(action.selection)
			const { destination } = filter
			const [matching, groups] = await Promise.all([
				outbox.dead.count(filter),
				destination === undefined ? outbox.dead.groups(filter, { limit: MAX_GROUPS }) : [{ destination }],
			])
			return { matching, destinations: matching.count === 0 ? [] : distinct(groups) }
		}
		case 'retry':
		case 'expire':
			return matchingQueued(action.action, action.selection, outbox)
		case 'resend': {
			const found = await outbox.find(action.id)
			return one(found?.status === 'sent' ? [found.destination] : [])
		}
		default: {
			const { destination } = action
			const { destinations } = await outbox.store.stats(MAX_DUE, destination)
			return { matching: destinations[0]?.due ?? { count: 0, isCapped: false }, destinations: [destination] }
		}
	}
}

/** Counts as `outbox.retry` and `outbox.expire` select. */
async function matchingQueued(
	action: 'retry' | 'expire',
	selection: Selection,
	outbox: Outbox,
): Promise<Matching> {
	const filter = { ...toFilter(selection), status: 'pending' } as const
	const destinations = new Set<string>()
	const now = await outbox.store.now()
	let count = 0
	let after: string | undefined
	for (let read = 0; read < MAX_QUEUED; read += PAGE_SIZE) {
		const page = await outbox.list(filter, { limit: PAGE_SIZE, after })
		for (const { destination, attempts, nextRetryAt, expiresAt } of page) {
			const isRetried = (nextRetryAt?.getTime() ?? 0) > now && (attempts > 0 || selection.ids !== undefined)
			const isChanged = action === 'retry' ? isRetried : (expiresAt?.getTime() ?? Infinity) > now
			if (!isChanged) continue
			count += 1
			destinations.add(destination)
		}
		after = page.at(-1)?.id
		if (page.length < PAGE_SIZE)
			return { matching: { count, isCapped: false }, destinations: [...destinations] }
	}
	return { matching: { count, isCapped: true }, destinations: [...destinations] }
}

const distinct = (rows: readonly { readonly destination: string }[]): readonly string[] => [
	...new Set(rows.map(({ destination }) => destination)),
]

/** Returns the destinations that relays do not send to now. */
async function waitingOf(outbox: Outbox, destinations: readonly string[]): Promise<readonly string[]> {
	if (destinations.length === 0) return []
	const circuits = await outbox.store.circuits(destinations)
	const paused = new Set(circuits.filter(isPaused).map(({ destination }) => destination))
	return destinations.filter((destination) => paused.has(destination))
}
