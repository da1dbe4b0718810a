/** Sorts what is observed by its kind. The classes are types only: a dashboard of policies loads no outbox. */
import { type Observable, type Observation, observationOf } from '../../core/observe/observation.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { Inbox } from '../../outbox/inbox/inbox.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Webhooks } from '../../outbox/webhooks/webhooks.ts'

/** The sources of each kind, by their names in `observe`. */
export interface QueueSources {
	readonly outboxes: ReadonlyMap<string, Outbox>
	readonly inboxes: ReadonlyMap<string, Inbox>
	readonly webhooks: ReadonlyMap<string, Webhooks>
	readonly idempotency: ReadonlyMap<string, Observation>
}

export function sortSources(things: Readonly<Record<string, Observable>>): QueueSources {
	const ofKind = <Thing>(kind: Observation['kind']): ReadonlyMap<string, Thing> =>
		new Map(
			Object.entries(things)
				.filter(([, thing]) => observationOf(thing).kind === kind)
				.map(([name, thing]) => [name, thing as unknown as Thing]),
		)
	const engines = ofKind<Observable>('idempotency')
	return {
		outboxes: ofKind('outbox'),
		inboxes: ofKind('inbox'),
		webhooks: ofKind('webhooks'),
		idempotency: new Map([...engines].map(([name, engine]) => [name, observationOf(engine)])),
	}
}

/** Returns a source by its name. The name may be left out if there is only one. */
export function requireSource<Thing>(
	parameter: string,
	name: unknown,
	sources: ReadonlyMap<string, Thing>,
): readonly [name: string, source: Thing] {
	const [only] = sources
	if (name === undefined && only && sources.size === 1) return only
	const source = typeof name === 'string' ? sources.get(name) : undefined
	if (source !== undefined) return [name as string, source]
	const names = [...sources.keys()].join(', ')
	return invalidArgument(
		parameter,
		name,
		names === '' ? 'no request, because observe has none of this kind' : `one of ${names}`,
	)
}
