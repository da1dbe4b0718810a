/** Changes of an endpoint of webhooks, the same in both databases: a store reads it under a lock, changes it here and writes it. */
import type { EndpointRow, EndpointRowChange, NewEndpointRow } from '../endpoint-store.ts'

/** Returns the endpoint after the change; undefined if it has another version. It keeps the time since when it is disabled. */
export function applyEndpointChange(
	before: EndpointRow,
	change: EndpointRowChange,
	now: number,
): EndpointRow | undefined {
	const { ifVersion = before.version, disabledReason = before.disabledReason } = change
	if (ifVersion !== before.version) return undefined
	const { url = before.url, topics = before.topics } = change
	const { description = before.description, secrets = before.secrets } = change
	const isEnabledNow = change.disabledReason === null
	return {
		...before,
		url,
		topics,
		description,
		secrets,
		version: before.version + 1,
		disabledReason,
		disabledAt: disabledReason === null ? null : (before.disabledAt ?? now),
		failingSince: isEnabledNow ? null : before.failingSince,
		failures: isEnabledNow ? 0 : before.failures,
	}
}

/** The topics under which an event finds the endpoint: none while it is disabled. */
export const subscribedTopics = ({ disabledReason, topics }: EndpointRow): readonly string[] =>
	disabledReason === null ? topics : []

export const hasFailures = ({ failingSince, failures }: EndpointRow): boolean =>
	failingSince !== null || failures > 0

/** The destination of an endpoint's messages, which its audit records name. */
export const endpointDestination = (id: string): string => `webhook:${id}`

/** Fields that audit records contain. Secrets are not among them. */
const AUDITED = ['url', 'topics', 'description'] as const

/**
 * Returns the fields of an endpoint as JSON for its audit record: those that differ from `before`, null if
 * none does; without `before` all of them.
 */
export function endpointChanges(endpoint: NewEndpointRow, before?: NewEndpointRow): string | null {
	const changed = AUDITED.filter(
		(name) => before === undefined || JSON.stringify(endpoint[name]) !== JSON.stringify(before[name]),
	)
	return changed.length === 0
		? null
		: JSON.stringify(Object.fromEntries(changed.map((name) => [name, endpoint[name]])))
}

/** Separates exact topics from patterns, whose beginnings it returns: `''` for `*`. */
export function splitTopics(topics: readonly string[]): {
	readonly exact: readonly string[]
	readonly beginnings: readonly string[]
} {
	const isPattern = (topic: string): boolean => topic.endsWith('*')
	return {
		exact: topics.filter((topic) => !isPattern(topic)),
		beginnings: topics.filter(isPattern).map((topic) => topic.slice(0, -1)),
	}
}
