/** Sources and events made by hand, for tests of one exporter without `observe`. */
import type { EventBase } from 'yaoki'
import type { Exporter, ObservedSource } from 'yaoki/telemetry'

export function sourceOf(part: Partial<ObservedSource> = {}): ObservedSource {
	return {
		name: 'payments',
		kind: 'policy',
		serviceOf: () => part.name ?? 'payments',
		members: undefined,
		stats: undefined,
		...part,
	}
}

/** 2026-01-01 00:00 in UTC. */
const START = Date.UTC(2026, 0, 1)

export type AnyEvent = EventBase & Readonly<Record<string, unknown>>

export const eventOf = (type: string, facts: object = {}): AnyEvent => ({
	type,
	emitter: 'retry',
	timestamp: START,
	...facts,
})

/** Returns a function that passes events to the exporter, and the end of the observation. */
export function attached(exporter: Exporter, source: ObservedSource = sourceOf()) {
	const observer = exporter.attach(source)
	return {
		emit: (type: string, facts: object = {}) => observer.onEvent?.(eventOf(type, facts)),
		detach: () => observer.detach?.(),
		observer,
	}
}
