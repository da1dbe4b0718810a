/** A logger that fails never affects a call, and is reported once. */
import { describe, expect, test, vi } from 'vitest'
import { logger } from 'yaoki/telemetry'
import { virtualRuntime } from 'yaoki/testing'
import { eventually } from '../../support/eventually.ts'
import { attached, sourceOf } from '../source.ts'

const failing = (fail: () => unknown) => ({ debug: fail, info: fail, warn: fail, error: fail })

const spyOnWarnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

const FAULTS: Readonly<Record<string, () => unknown>> = {
	throws: () => {
		throw new Error('log disk is full')
	},
	'returns a rejected promise': () => Promise.reject(new Error('log disk is full')),
	'returns a thenable that throws': () => ({
		// biome-ignore lint/suspicious/noThenProperty: the fault to be tested.
		then() {
			throw new Error('log disk is full')
		},
	}),
}

describe.each(Object.entries(FAULTS))('a logger that %s', (_, fail) => {
	test('is reported once, and nothing is thrown', async () => {
		const warn = spyOnWarnings()
		const { emit, detach } = attached(logger(failing(fail), { intervalMs: 0 }))
		for (let count = 0; count < 5; count++) emit('relay_dead_letter')
		detach()
		await eventually(() => expect(warn).toHaveBeenCalled())
		await Promise.resolve()
		expect(warn.mock.calls).toEqual([
			['yaoki: telemetry (logger): the logger failed, lines are lost:', new Error('log disk is full')],
		])
	})

	test('does not throw in the timer that writes the suppressed line, and is reported once', async () => {
		const warn = spyOnWarnings()
		const runtime = virtualRuntime()
		const target = failing(vi.fn(fail))
		const { emit } = attached(logger(target, { runtime }))
		emit('relay_dead_letter')
		emit('relay_dead_letter')
		await expect(runtime.advance(10_000)).resolves.toBeUndefined()
		expect(target.error).toHaveBeenCalledTimes(2)
		await eventually(() => expect(warn).toHaveBeenCalledTimes(1))
	})
})

test('a console whose methods throw does not throw into a call', () => {
	for (const method of ['debug', 'info', 'warn', 'error'] as const)
		vi.spyOn(console, method).mockImplementation(() => {
			throw new Error('EPIPE')
		})
	const { emit } = attached(logger(console))
	expect(() => emit('relay_dead_letter')).not.toThrow()
})

test('isLevelEnabled that throws is reported, and the line is written', () => {
	const warn = spyOnWarnings()
	const lines: unknown[] = []
	const target = {
		error: (fields: unknown) => lines.push(fields),
		isLevelEnabled() {
			throw new Error('closed')
		},
	}
	attached(logger(target)).emit('relay_dead_letter')
	expect(lines).toHaveLength(1)
	expect(warn).toHaveBeenCalledTimes(1)
})

test('an event with an impossible time is reported, not thrown', () => {
	const warn = spyOnWarnings()
	const { emit } = attached(logger({ info: () => {} }), sourceOf())
	expect(() => emit('relay_dead_letter', { timestamp: Number.NaN })).not.toThrow()
	expect(warn).toHaveBeenCalledTimes(1)
})

test('a logger whose promise never settles holds no line back', () => {
	const write = vi.fn(() => new Promise(() => {}))
	const { emit } = attached(logger(failing(write), { intervalMs: 0 }))
	for (let count = 0; count < 3; count++) emit('relay_dead_letter')
	expect(write).toHaveBeenCalledTimes(3)
})
