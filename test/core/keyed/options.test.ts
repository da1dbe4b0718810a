import { expect, it } from 'vitest'
import { type KeyedOptions, readKeyedOptions } from '../../../src/core/keyed/options.ts'

it('keeps a thousand keys for ten idle minutes by default', () => {
	expect(readKeyedOptions({})).toEqual({ maxKeys: 1_000, idleMs: 600_000 })
})

it('accepts every option', () => {
	const options = { name: 'tenants', maxKeys: 1, idleMs: Infinity }
	expect(readKeyedOptions(options)).toEqual(options)
})

it.each([
	[{ maxKeys: 0 }, 'Invalid option "maxKeys": expected an integer, 1 or more, got 0'],
	[{ maxKeys: 1.5 }, 'Invalid option "maxKeys": expected an integer, 1 or more, got 1.5'],
	[{ maxKeys: Infinity }, 'Invalid option "maxKeys": expected an integer, 1 or more, got Infinity'],
	[{ idleMs: -1 }, /^Invalid option "idleMs": expected .*, got -1/],
	[{ idleMs: Number.NaN }, /^Invalid option "idleMs": expected .*, got NaN/],
	[{ idle: 5 }, 'Unknown option "idle"'],
])('rejects %o', (options, message) => {
	expect(() => readKeyedOptions(options as KeyedOptions)).toThrow(message)
})
