import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import type { Jsonified } from '../../../src/core/json/jsonified.ts'
import type { MessageHandler } from '../../../src/outbox/destinations/destination.ts'
import { httpDestination } from '../../../src/outbox/destinations/http-destination.ts'
import type { Message, Topics } from '../../../src/outbox/message/message.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { type DestinationsFor, Relay } from '../../../src/outbox/relay/relay.ts'
import { fakeStore } from '../fake-store.ts'

interface Order {
	readonly id: string
	readonly lines: readonly { readonly price: number; note?: string | undefined }[]
	readonly kind: 'new' | 'old' | null
}

interface Dated {
	readonly at: Date
	readonly children: readonly Dated[]
}

interface Tree {
	readonly name: string
	readonly children: readonly Tree[]
}

test('the payload type of a handler is the schema output after JSON (regression: a Date was typed as Date but delivered as a string)', () => {
	const topics = {
		paid: z.object({ at: z.coerce.date(), by: z.string().default('card'), lines: z.array(z.date()) }),
	}
	const outbox = new Outbox({ store: fakeStore(), topics })
	new Relay(outbox, {
		destinations: {
			paid: ({ payload }) => {
				expectTypeOf(payload).toEqualTypeOf<{ at: string; by: string; lines: string[] }>()
			},
			'*': ({ payload }) => expectTypeOf(payload.at).toEqualTypeOf<string>(),
		},
	})
	expectTypeOf<Jsonified<Date>>().toEqualTypeOf<string>()
	expectTypeOf<Jsonified<[Date, 1]>>().toEqualTypeOf<[string, 1]>()
	expectTypeOf<Jsonified<Date | null | undefined>>().toEqualTypeOf<string | null | undefined>()
	expectTypeOf<Jsonified<{ at?: Date; url: URL }>>().toEqualTypeOf<{ at?: string; url: string }>()
	expectTypeOf<Jsonified<{ money: { toJSON(): { cents: number; at: Date } } }>>().toEqualTypeOf<{
		money: { cents: number; at: string }
	}>()
	expectTypeOf<Jsonified<{ a: 1; save(): void; tag: symbol }>>().toEqualTypeOf<{ a: 1 }>()
})

test('types that enqueue rejects become never', () => {
	expectTypeOf<Jsonified<{ a: Map<string, 1>; b: Set<1>; c: bigint }>>().toEqualTypeOf<{
		a: never
		b: never
		c: never
	}>()
})

test('a type that JSON does not change stays the same', () => {
	expectTypeOf<Jsonified<unknown>>().toEqualTypeOf<unknown>()
	expectTypeOf<Jsonified<Order>>().toEqualTypeOf<Order>()
	expectTypeOf<Jsonified<Tree>>().toExtend<Tree>()
	expectTypeOf<Tree>().toExtend<Jsonified<Tree>>()
	expectTypeOf<Jsonified<{ tree: Dated }>['tree']['children'][number]['at']>().toEqualTypeOf<string>()
	expectTypeOf<Jsonified<readonly Order[]>>().toEqualTypeOf<readonly Order[]>()
	expectTypeOf<Jsonified<boolean>>().toEqualTypeOf<boolean>()
	expectTypeOf<Jsonified<Record<string, number>>>().toEqualTypeOf<Record<string, number>>()
	type Branded = string & { readonly brand: 'order' }
	expectTypeOf<Jsonified<{ id: Branded }>>().toEqualTypeOf<{ id: Branded }>()
})

test('without topics a handler declares its payload type', () => {
	const outbox = new Outbox({ store: fakeStore() })
	const bill: MessageHandler<Message<string, Order>> = ({ payload }) => payload.lines.length
	new Relay(outbox, {
		destinations: {
			bill,
			slow: { deliver: bill, maxConcurrent: 1 },
			mail: (message: Message<string, { to: string }>) => message.payload.to,
			http: httpDestination({ url: ({ payload }: Message<string, Order>) => `http://a/${payload.id}` }),
			other: ({ payload, topic }) => {
				expectTypeOf(payload).toEqualTypeOf<unknown>()
				expectTypeOf(topic).toEqualTypeOf<string>()
			},
		},
	})
})

test('with topics the payload type must match the schema', () => {
	const topics = { paid: z.object({ id: z.string() }) }
	type Paid = DestinationsFor<typeof topics, 'paid'>['paid']
	expectTypeOf<MessageHandler<Message<'paid', { id: string }>>>().toExtend<Paid>()
	expectTypeOf<MessageHandler<Message<'paid', { id: number }>>>().not.toExtend<Paid>()
	expectTypeOf<MessageHandler<Message<'paid', { id: string; more: number }>>>().not.toExtend<Paid>()
	expectTypeOf(topics).toExtend<Topics>()
})
