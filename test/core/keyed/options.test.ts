import { expect, it } from 'vitest'
import { type KeyedOptions, readKeyedOptions } from '../../../src/core/keyed/options.ts'

it('a thousand keys are remembered for ten idle minutes when nothing is said', () => {
	expect(readKeyedOptions({})).toEqual({ maxKeys: 1_000, idleMs: 600_000 })
})

it('every option is taken', () => {
	const options = { name: 'tenants', maxKeys: 1, idleMs: Infinity }
	expect(readKeyedOptions(options)).toEqual(options)
})

it.each([
	[{ maxKeys: 0 }, 'maxKeys: got 0; takes a finite number, 1 or more'],
	[{ maxKeys: 1.5 }, 'maxKeys: got 1.5; takes a whole number'],
	[{ maxKeys: Infinity }, 'maxKeys: got Infinity; takes a finite number, 1 or more'],
	[{ idleMs: -1 }, /^idleMs: got -1; takes /],
	[{ idleMs: Number.NaN }, /^idleMs: got NaN; takes /],
	[{ idle: 5 }, 'idle: got 5; takes nothing, for there is no such option, only maxKeys, idleMs'],
])('%o is refused', (options, message) => {
	expect(() => readKeyedOptions(options as KeyedOptions)).toThrow(message)
})
