/** Rules of docs/decisions/0044-public-names.md. The compiler checks those about types. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { EventBase, FailureKind, YaokiEvent } from 'yaoki'
import type { IdempotencyEvent } from 'yaoki/idempotency'
import type { InboxEvent, OutboxEvent, RelayEvent } from 'yaoki/outbox'
import { exportedSubpaths } from '../../scripts/build/layout.ts'

type AnyEvent = YaokiEvent | IdempotencyEvent | InboxEvent | OutboxEvent | RelayEvent

/** The texts that a field of events can have. */
type Texts<Field extends string> = AnyEvent extends infer Event
	? Event extends { readonly [F in Field]?: infer Value }
		? Extract<Value, string>
		: never
	: never

describe('events', () => {
	test('events of idempotency engines, inboxes, outboxes and relays have types that begin with their emitter', () => {
		expectTypeOf<IdempotencyEvent['type']>().toExtend<`idempotency_${string}`>()
		expectTypeOf<InboxEvent['type']>().toExtend<`inbox_${string}`>()
		expectTypeOf<OutboxEvent['type']>().toExtend<`outbox_${string}`>()
		expectTypeOf<RelayEvent['type']>().toExtend<`relay_${string}`>()
	})

	test('share the base fields', () => {
		expectTypeOf<AnyEvent>().toExtend<EventBase>()
	})

	test('events have types in snake_case, and reasons, causes, stops and outcomes in kebab-case', () => {
		expectTypeOf<Extract<AnyEvent['type'], `${string}-${string}`>>().toBeNever()
		type Words = Texts<'reason'> | Texts<'cause'> | Texts<'stop'> | Texts<'outcome'>
		expectTypeOf<'circuit-open' | 'retries-exhausted' | 'success'>().toExtend<Words>()
		expectTypeOf<Extract<Words, `${string}_${string}`>>().toBeNever()
		expectTypeOf<AnyEvent['type'] | Words>().toEqualTypeOf<Lowercase<AnyEvent['type'] | Words>>()
	})

	test('events have no kind of failure as a reason', () => {
		expectTypeOf<Extract<Texts<'reason'>, FailureKind>>().toBeNever()
	})
})

test('only errors, and what a program operates itself, are created with new', async () => {
	const entries = exportedSubpaths().map(([subpath]) => `yaoki${subpath.slice(1)}`)
	const modules: object[] = await Promise.all(entries.map((entry) => import(entry)))
	const classes = modules
		.flatMap((module) => Object.entries(module))
		.filter(([name, value]) => String(value).startsWith('class') && !name.endsWith('Error'))
		.map(([name]) => name)
	expect(classes.sort()).toEqual([
		'Deadline',
		'Inbox',
		'Outbox',
		'Relay',
		'ResilientHttpClient',
		'RetryBudget',
		'Simulation',
		'Webhooks',
	])
})
