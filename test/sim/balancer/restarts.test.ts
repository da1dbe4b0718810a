import { describe, expect, test } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import { faultsOfInstance } from '../../../src/sim/balancer/create-service.ts'
import { every, setup, web } from '../setup.ts'

const restart = (more: object): Fault => ({ kind: 'restart', fromMs: 1_000, toMs: 5_000, ...more })

const failedWith = (more: object) =>
	web(
		simulate(
			setup({
				api: { instances: 4, serviceTimeMs: 5, faults: [restart(more)] },
				web: { arrivals: every(10, 600) },
			}),
		),
	).failed

describe('a restart of four instances in four seconds', () => {
	test('fails all calls of that time if all restart together', () => {
		expect(failedWith({})).toBe(400)
	})

	test('fails a quarter if they restart one after the other', () => {
		expect(failedWith({ isRolling: true })).toBe(100)
	})

	test('fails no call if the load balancer drains each first', () => {
		expect(failedWith({ isRolling: true, drainMs: 100 })).toBe(0)
	})

	test('fails all calls if all are drained together', () => {
		expect(failedWith({ drainMs: 0 })).toBe(400)
	})

	test('hits only the given number of instances', () => {
		expect(failedWith({ instances: 1 })).toBe(100)
		expect(failedWith({ instances: 2, isRolling: true })).toBe(100)
	})
})

test('instances restart in turn, in equal parts of the time', () => {
	const times = [0, 1, 2, 3].map((index) => faultsOfInstance([restart({ isRolling: true })], index, 4)[0])
	expect(times.map((fault) => [fault?.fromMs, fault?.toMs])).toEqual([
		[1_000, 2_000],
		[2_000, 3_000],
		[3_000, 4_000],
		[4_000, 5_000],
	])
})

test('an instance that autoscaling has added is not restarted in turn', () => {
	expect(faultsOfInstance([restart({ isRolling: true })], 4, 4)).toEqual([])
	expect(faultsOfInstance([restart({})], 4, 4)).toHaveLength(1)
})
