/**
 * The check of endpoints of webhooks. Of thousands of customers' endpoints some are always down, and that is no
 * fault of the outbox. So this check says what is wrong with endpoints, and the other checks leave endpoints out that
 * fail or are disabled: one cause would make five of them fail.
 */
import type { DestinationStats, OutboxStats } from '../../../outbox/diagnostics/stats.ts'
import type { EndpointRow, EndpointRowFilter, EndpointStore } from '../../../outbox/store/endpoint-store.ts'
import { formatCount, formatDuration, formatNumber, joinList } from '../../../text/format.ts'
import { destinationOf } from '../../../webhooks/endpoint-names.ts'
import { failed, type HealthCheck, passed } from './health-check.ts'

/** Endpoints that get no messages at the moment, by their destination. */
export interface TroubledEndpoints {
	readonly enabled: number
	readonly failing: ReadonlyMap<string, EndpointRow>
	readonly disabled: ReadonlyMap<string, EndpointRow>
}

const PAGE_SIZE = 1_000

/** Returns undefined if the outbox has no endpoints. */
export async function readTroubledEndpoints(
	store: EndpointStore | undefined,
): Promise<TroubledEndpoints | undefined> {
	if (!store) return undefined
	const { enabled, disabled } = await store.stats()
	if (enabled + disabled.operator + disabled.failing + disabled.gone === 0) return undefined
	return {
		enabled,
		failing: await readAll(store, { isFailing: true }),
		disabled: await readAll(store, { isEnabled: false }),
	}
}

async function readAll(
	store: EndpointStore,
	filter: EndpointRowFilter,
): Promise<ReadonlyMap<string, EndpointRow>> {
	const found = new Map<string, EndpointRow>()
	let after: string | undefined
	do {
		const page = await store.list(filter, PAGE_SIZE, after)
		for (const row of page) found.set(destinationOf(row.id), row)
		after = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined
	} while (after !== undefined)
	return found
}

/** Returns the statistics without these endpoints. */
export function withoutTroubled(stats: OutboxStats, troubled: TroubledEndpoints | undefined): OutboxStats {
	if (!troubled) return stats
	const isKept = ({ destination }: { readonly destination: string }): boolean =>
		!troubled.failing.has(destination) && !troubled.disabled.has(destination)
	const destinations = stats.destinations.filter(isKept)
	if (destinations.length === stats.destinations.length && stats.circuits.every(isKept)) return stats
	const highest = (name: 'oldestLagMs' | 'oldestAgeMs'): number | null => {
		const known = destinations.flatMap((one) => one[name] ?? [])
		return known.length === 0 ? null : Math.max(...known)
	}
	return {
		...stats,
		destinations,
		circuits: stats.circuits.filter(isKept),
		totals: {
			...stats.totals,
			oldestLagMs: highest('oldestLagMs'),
			oldestAgeMs: highest('oldestAgeMs'),
			maxAttempts: destinations.reduce((most, { maxAttempts }) => Math.max(most, maxAttempts), 0),
			failing: {
				count: destinations.reduce((sum, { failing }) => sum + failing.count, 0),
				isCapped: destinations.some(({ failing }) => failing.isCapped),
			},
		},
	}
}

/** Names in a message; a list of a hundred is not read. */
const MAX_NAMES = 3

const queued = ({ due, scheduled, inFlight }: DestinationStats): number =>
	due.count + scheduled.count + inFlight.count

/** Disabled endpoints with queued messages, and endpoints that have failed for longer than `limitMs`. */
export function checkWebhooks(
	stats: OutboxStats,
	troubled: TroubledEndpoints | undefined,
	limitMs: number,
	flags: string,
): HealthCheck {
	if (!troubled) return passed('webhooks', 'there are no endpoints of webhooks')
	const { enabled, failing, disabled } = troubled
	const now = stats.now.getTime()
	const waiting = stats.destinations.filter((one) => disabled.has(one.destination) && queued(one) > 0)
	const late = [...failing.values()]
		.filter(({ failingSince }) => failingSince !== null && now - failingSince > limitMs)
		.sort((a, b) => (a.failingSince ?? now) - (b.failingSince ?? now))
	if (waiting.length + late.length === 0)
		return passed(
			'webhooks',
			`${formatCount(enabled, 'endpoint')} enabled, ${formatNumber(failing.size)} of them failing, ${formatNumber(disabled.size)} disabled`,
		)
	const waitingTexts = waiting
		.toSorted((a, b) => queued(b) - queued(a))
		.map((one) => `${one.destination} (${formatCount(queued(one), 'message')})`)
	const lateTexts = late.map(
		({ id, failingSince }) => `${destinationOf(id)} (for ${formatDuration(now - (failingSince ?? now))})`,
	)
	const texts = [
		...(waitingTexts.length === 0
			? []
			: [`disabled endpoints with queued messages: ${joinList(waitingTexts, 'and', MAX_NAMES)}`]),
		...(lateTexts.length === 0 ? [] : [`failing endpoints: ${joinList(lateTexts, 'and', MAX_NAMES)}`]),
	]
	const since = [
		...late.map(({ failingSince }) => failingSince),
		...waiting.map(({ destination }) => disabled.get(destination)?.disabledAt),
	].flatMap((time) => time ?? [])
	return failed(
		'webhooks',
		texts.join('; '),
		since.length === 0 ? null : Math.min(...since),
		waiting.length > 0
			? `enable them (yaoki webhooks enable ID${flags}), or end their messages (yaoki outbox expire --destination webhook:ID${flags})`
			: `what they respond: yaoki outbox why ID of a message of yaoki outbox list --destination webhook:ID${flags}`,
	)
}
