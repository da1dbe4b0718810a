import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Jsonified } from '../../../src/core/json/jsonified.ts'

/** What a store does: writes the value as JSON and reads it back. */
const store = <T>(value: T): Jsonified<T> => JSON.parse(JSON.stringify(value))

class Money {
	readonly cents: number

	constructor(cents: number) {
		this.cents = cents
	}

	plus(other: Money): Money {
		return new Money(this.cents + other.cents)
	}
}

describe('the type of a stored value is the type of what is read', () => {
	it('a Date is read as a string, at any depth', () => {
		const read = store({ at: new Date(0), days: [new Date(0)], pair: ['a', new Date(0)] as [string, Date] })
		expectTypeOf(read).toEqualTypeOf<{ at: string; days: string[]; pair: [string, string] }>()
		const epoch = '1970-01-01T00:00:00.000Z'
		expect(read).toStrictEqual({ at: epoch, days: [epoch], pair: ['a', epoch] })
	})

	it('an object with toJSON is read as its result, which is converted too', () => {
		const read = store({
			total: { toJSON: () => ({ cents: 5, at: new Date(0) }) },
			url: new URL('http://a.test'),
		})
		expectTypeOf(read).toEqualTypeOf<{ total: { cents: number; at: string }; url: string }>()
		expect(read).toStrictEqual({ total: { cents: 5, at: '1970-01-01T00:00:00.000Z' }, url: 'http://a.test/' })
	})

	it('methods, functions and symbols are not read', () => {
		const read = store({ money: new Money(5), save: () => 1, tag: Symbol('a'), [Symbol.iterator]: 1 })
		expectTypeOf(read).toEqualTypeOf<{ money: { readonly cents: number } }>()
		expect(read).toStrictEqual({ money: { cents: 5 } })
	})

	it('JSON values keep their type, with literals, optional and readonly properties', () => {
		interface Order {
			readonly id: string
			kind: 'new' | 'old' | null
			note?: string
			readonly lines: readonly (readonly [count: number, paid: boolean])[]
		}
		const order: Order = { id: 'a', kind: 'new', lines: [[1, true]] }
		const read = store(order)
		expectTypeOf(read).toEqualTypeOf<Order>()
		expect(read).toStrictEqual(order)
	})

	it('an undefined property is read as undefined', () => {
		const read = store<{ a: string | undefined; b: number }>({ a: undefined, b: 1 })
		expectTypeOf(read).toEqualTypeOf<{ a: string | undefined; b: number }>()
		expect(read).toStrictEqual({ b: 1 })
		expect(read.a).toBeUndefined()
	})
})

describe('a value that JSON rejects or empties has the type never', () => {
	it('a bigint is rejected', () => {
		expectTypeOf<Jsonified<{ a: bigint }>>().toEqualTypeOf<{ a: never }>()
		expect(() => store({ a: 1n })).toThrow(TypeError)
	})

	it('a Map and a Set are emptied', () => {
		expectTypeOf<Jsonified<Map<string, 1>>>().toEqualTypeOf<never>()
		expectTypeOf<Jsonified<{ a: Set<1> }>>().toEqualTypeOf<{ a: never }>()
		expect(store({ a: new Map([['a', 1]]), b: new Set([1]) })).toStrictEqual({ a: {}, b: {} })
	})

	it('a function is no value of its own', () => {
		expectTypeOf<Jsonified<() => 1>>().toEqualTypeOf<never>()
		expect(JSON.stringify(() => 1)).toBeUndefined()
	})
})

describe('a type that is not known', () => {
	it('stays unknown', () => {
		expectTypeOf<Jsonified<unknown>>().toEqualTypeOf<unknown>()
	})

	it('may be recursive', () => {
		interface Event {
			at: Date
			causes: Event[]
		}
		const read = store<Event>({ at: new Date(0), causes: [{ at: new Date(0), causes: [] }] })
		expectTypeOf(read.causes[0]?.causes[0]?.at).toEqualTypeOf<string | undefined>()
		expect(read.causes[0]?.at).toBe('1970-01-01T00:00:00.000Z')
	})
})
