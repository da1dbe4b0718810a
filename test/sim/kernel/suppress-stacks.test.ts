import { describe, expect, it } from 'vitest'
import { retry } from 'yaoki'
import { simulate } from 'yaoki/sim'
import { hasFunction, suppressStacks } from '../../../src/sim/kernel/suppress-stacks.ts'
import { every, setup } from '../setup.ts'

const limit = () => Reflect.get(Error, 'stackTraceLimit')

describe('errors without stacks', () => {
	it('exist only while the function runs', () => {
		const before = limit()
		expect(suppressStacks(() => limit())).toBe(0)
		expect(limit()).toBe(before)
	})

	it('end when the function throws', () => {
		const before = limit()
		expect(() =>
			suppressStacks(() => {
				throw new RangeError('thrown')
			}),
		).toThrow('thrown')
		expect(limit()).toBe(before)
	})

	it('do not occur if the program has frozen the setting', () => {
		const before = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')
		Object.defineProperty(Error, 'stackTraceLimit', { value: 7, writable: false, configurable: true })
		try {
			expect(suppressStacks(() => limit())).toBe(7)
		} finally {
			if (before) Object.defineProperty(Error, 'stackTraceLimit', before)
		}
	})
})

describe('a simulation', () => {
	it('keeps stacks if it has user functions', () => {
		const seen: unknown[] = []
		const shouldRetry = () => {
			seen.push(limit())
			return false
		}
		const dead = { faults: [{ kind: 'outage', fromMs: 0, toMs: 50 }] } as const
		simulate(setup({ api: dead, policy: () => retry({ shouldRetry }) }))
		simulate(setup({ api: dead, policy: [{ retry: { shouldRetry } }] }))
		simulate(
			setup({
				web: { arrivals: every(100, 5) },
				rest: {
					until: () => {
						seen.push(limit())
						return true
					},
				},
			}),
		)
		expect(seen).toEqual([limit(), limit(), limit()])
		expect(limit()).toBeGreaterThan(0)
	})

	it('has no stacks if it is data only', () => {
		expect(hasFunction(setup({ policy: [{ retry: {} }] }))).toBe(false)
		expect(hasFunction([undefined, { a: [{ b: () => 1 }] }])).toBe(true)
	})
})
